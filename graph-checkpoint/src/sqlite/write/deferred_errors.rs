//! Errors of requests for which no caller waited. The thread's next caller receives the error.

use std::collections::HashMap;

use superstep_core::checkpoint::{Commit, Source, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};

/// The maximum number of threads with a deferred error. The error of a dropped run is never taken.
const LIMIT: usize = 1024;

/// For each thread, the error in its unfinished superstep.
#[derive(Default)]
pub(crate) struct DeferredErrors {
    held: HashMap<ThreadId, DeferredError>,
}

struct DeferredError {
    base: CheckpointId,
    error: StoreError,
}

impl DeferredErrors {
    /// Keeps an error of the superstep on `base`.
    pub(crate) fn keep(&mut self, thread: &ThreadId, base: CheckpointId, error: StoreError) {
        if self.held.len() >= LIMIT && !self.held.contains_key(thread) {
            // The oldest superstep: ids sort by time.
            let oldest =
                self.held.iter().min_by_key(|(_, fault)| fault.base).map(|(thread, _)| thread.clone());
            oldest.map(|oldest| self.held.remove(&oldest));
        }
        self.held.insert(thread.clone(), DeferredError { base, error });
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Returns `true` if the thread has an error.
    pub(crate) fn has(&self, thread: &ThreadId) -> bool {
        self.held.contains_key(thread)
    }

    /// Takes the error of the thread.
    pub(crate) fn take(&mut self, thread: &ThreadId) -> Option<StoreError> {
        self.held.remove(thread).map(|fault| fault.error)
    }

    /// Takes the error that the commit must report. An input and an edit do not depend on the superstep's tasks, and
    /// neither does a commit on another checkpoint, so an error of a dropped run does not concern them. A commit finds
    /// out by comparing records if another driver was faster.
    pub(crate) fn of_commit(&mut self, commit: &Commit) -> Option<StoreError> {
        let fault = self.held.remove(&commit.thread)?;
        let concerned = commit.first().source == Source::Loop && commit.expected == Some(fault.base);
        let is_compared = commit.recorded.is_some() && matches!(fault.error, StoreError::Superseded { .. });
        (concerned && !is_compared).then_some(fault.error)
    }

    /// Handles the outcome of a request for which no caller waits: its error is kept, unless the file failed.
    pub(crate) fn unwaited(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        fault: Option<StoreError>,
    ) -> Result<(), StoreError> {
        match fault {
            Some(error @ StoreError::Io(_)) => return Err(error),
            Some(fault) => self.keep(thread, base, fault),
            None => {}
        }
        Ok(())
    }
}
