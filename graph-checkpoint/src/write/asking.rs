//! Who waits for an answer, and may stop waiting.

use crate::write::queue::{Job, Kind, Queue};

/// Somebody who waits for an answer of the writer.
pub(crate) struct Asking<'q> {
    pub(crate) queue: &'q Queue,
    pub(crate) answered: bool,
}

impl Drop for Asking<'_> {
    /// Who gives up waiting leaves a request behind that is still carried out. Whoever reads next sees what came
    /// of it: a run that was dropped could otherwise overtake the run that continues it.
    fn drop(&mut self) {
        if !self.answered {
            self.queue.push(Job::handed_over(Kind::Short, None, |_| Ok(())));
        }
    }
}
