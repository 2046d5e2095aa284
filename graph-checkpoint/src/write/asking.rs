//! A caller's wait for an answer, which it may give up.

use crate::write::queue::{Job, Kind, Queue};

/// Somebody who waits for an answer of the writer.
pub(crate) struct Asking<'q> {
    pub(crate) queue: &'q Queue,
    pub(crate) answered: bool,
}

impl Drop for Asking<'_> {
    /// A cancelled caller's request still runs, and the next read sees its result: a run that was dropped could otherwise
    /// overtake the run that continues it.
    fn drop(&mut self) {
        if !self.answered {
            self.queue.push(Job::handed_over(Kind::Short, None, |_| Ok(())));
        }
    }
}
