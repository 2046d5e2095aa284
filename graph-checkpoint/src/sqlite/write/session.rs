//! Results that this saver has recorded, and that may not be committed yet.
//!
//! The first result of a task counts. That is known without waiting for the writer: from the results that this saver
//! recorded, and from those in the file when the superstep was opened. If another program records a result in between,
//! the write detects it, and the superstep's commit is rejected.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::{HashMap, HashMapExt};
use superstep_core::checkpoint::TaskResult;
use superstep_core::id::{CheckpointId, TaskId, ThreadId};

/// The maximum number of open supersteps. Opening one more ends those on the oldest checkpoints: their runs were
/// dropped, or read the file again.
const LIMIT: usize = 4096;

/// For each thread, the results of its unfinished superstep. The commit, or the end of the run, removes them.
#[derive(Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<ThreadId, Session>>,
}

struct Session {
    base: CheckpointId,
    /// The fence of the lease with which results were recorded: results of holders that have lost the lease do not
    /// count.
    fence: Option<u64>,
    results: HashMap<TaskId, Arc<TaskResult>>,
}

/// The decision about a result.
pub(crate) enum Counted {
    /// A new result, or the completion of an earlier one: it must be stored.
    Store(Arc<TaskResult>),
    /// A later result; this is the first one, which counts.
    Earlier(Arc<TaskResult>),
}

impl Sessions {
    fn open(&self) -> MutexGuard<'_, HashMap<ThreadId, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns which result counts; `None` if the superstep on `base` is not open.
    pub(crate) fn count(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        fence: Option<u64>,
        result: &TaskResult,
    ) -> Option<Counted> {
        let mut open = self.open();
        let session =
            open.get_mut(thread).filter(|session| session.base == base && session.fence == fence)?;
        let Some(held) = session.results.get_mut(&result.task) else {
            let first = Arc::new(result.clone());
            session.results.insert(result.task, Arc::clone(&first));
            return Some(Counted::Store(first));
        };
        if held.targets.is_none() && result.targets.is_some() {
            let completed = Arc::make_mut(held);
            completed.targets.clone_from(&result.targets);
            completed.handled.clone_from(&result.handled);
            return Some(Counted::Store(Arc::clone(held)));
        }
        Some(Counted::Earlier(Arc::clone(held)))
    }

    /// Opens the superstep on `base` with its stored results. Results that were recorded in the meantime stay.
    pub(crate) fn begin(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        fence: Option<u64>,
        stored: Vec<TaskResult>,
    ) {
        let mut open = self.open();
        if open.len() >= LIMIT && !open.contains_key(thread) {
            // Ids sort by time.
            let mut bases: Vec<CheckpointId> = open.values().map(|session| session.base).collect();
            let (_, middle, _) = bases.select_nth_unstable(LIMIT / 2);
            let middle = *middle;
            open.retain(|_, session| session.base > middle);
        }
        let new = || Session { base, fence, results: HashMap::new() };
        let session = open.entry(thread.clone()).or_insert_with(new);
        if (session.base, session.fence) != (base, fence) {
            (session.base, session.fence) = (base, fence);
            session.results.clear();
        }
        for result in stored {
            session.results.entry(result.task).or_insert_with(|| Arc::new(result));
        }
    }

    /// Forgets the superstep of a thread: it is committed, or its commit was rejected.
    pub(crate) fn end(&self, thread: &ThreadId) {
        self.open().remove(thread);
    }

    /// Forgets the supersteps of a thread and of those below it, when they are deleted.
    pub(crate) fn end_on_or_below(&self, thread: &ThreadId) {
        self.open().retain(|name, _| !name.is_on_or_below(thread));
    }
}

#[cfg(test)]
mod tests {
    use superstep_core::checkpoint::StoreError;
    use uuid::Uuid;

    use super::*;
    use crate::sqlite::write::deferred_errors::DeferredErrors;

    /// Only a commit removed an entry: runs that were dropped, or that stopped at a question, left theirs until the
    /// program ended.
    #[test]
    fn what_dropped_runs_leave_behind_is_bounded() {
        let (sessions, mut deferred_errors) = (Sessions::default(), DeferredErrors::default());
        let mut last = None;
        for number in 0..3 * LIMIT {
            let (thread, base) = (ThreadId::from(number.to_string()), CheckpointId(Uuid::now_v7()));
            sessions.begin(&thread, base, None, Vec::new());
            deferred_errors.keep(&thread, base, StoreError::Superseded { thread: thread.clone(), base });
            last = Some((thread, base));
        }
        assert!(sessions.open().len() <= LIMIT);
        assert!(deferred_errors.len() <= LIMIT);
        let (thread, base) = last.expect("there were some");
        assert_eq!(sessions.open()[&thread].base, base, "the newest stays");
        assert!(deferred_errors.take(&thread).is_some(), "the newest stays");
    }
}
