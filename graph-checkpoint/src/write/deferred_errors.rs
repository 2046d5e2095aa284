//! DeferredErrors of requests that no caller waited for. The next caller of the thread gets the error.

use std::collections::HashMap;

use superstep_core::checkpoint::{Commit, Source, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};

/// The number of threads whose deferred_errors are held. A dropped run does not take its fault away.
const LIMIT: usize = 1024;

/// Per thread, what went wrong in its unfinished superstep.
#[derive(Default)]
pub(crate) struct DeferredErrors {
    held: HashMap<ThreadId, DeferredError>,
}

struct DeferredError {
    base: CheckpointId,
    error: StoreError,
}

impl DeferredErrors {
    /// Keeps a fault of the superstep on `base`.
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

    /// Takes the thread's fault.
    pub(crate) fn take(&mut self, thread: &ThreadId) -> Option<StoreError> {
        self.held.remove(thread).map(|fault| fault.error)
    }

    /// Takes what a commit must be told. An input and an edit do not build on what the superstep's tasks did,
    /// and neither does a commit on another checkpoint: a fault that a dropped run left is none of theirs. That another
    /// driver was faster is found by comparing what a commit says it knows.
    pub(crate) fn of_commit(&mut self, commit: &Commit) -> Option<StoreError> {
        let fault = self.held.remove(&commit.thread)?;
        let concerned = commit.first().source == Source::Loop && commit.expected == Some(fault.base);
        let is_compared = commit.recorded.is_some() && matches!(fault.error, StoreError::Superseded { .. });
        (concerned && !is_compared).then_some(fault.error)
    }

    /// The answer to what nobody waits for: a fault is kept, unless the file failed.
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
