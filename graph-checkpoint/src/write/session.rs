//! Results that this saver has recorded and that may not be committed yet.
//!
//! A task's result counts when it was the first; that is known at once, without waiting for the writer: from
//! what this saver recorded, and from what was in the file when the first result of the superstep came. If
//! another program's result gets in between, the write finds it, and the superstep's commit is refused.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::{HashMap, HashMapExt};
use superstep_core::checkpoint::TaskResult;
use superstep_core::id::{CheckpointId, TaskId, ThreadId};

/// The largest number of open supersteps. Opening one more ends those on the oldest checkpoints: their runs were
/// dropped, or else read the file again.
const LIMIT: usize = 4096;

/// Per thread, the results of its unfinished superstep. It ends with the commit, and when the run stops.
#[derive(Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<ThreadId, Session>>,
}

struct Session {
    base: CheckpointId,
    /// That of the lease with which it was recorded: what somebody recorded who has lost the thread does not count.
    fence: Option<u64>,
    results: HashMap<TaskId, TaskResult>,
}

/// The decision about a result.
pub(crate) enum Counted {
    /// New, or the completion of an earlier one: this is to be stored.
    Store(TaskResult),
    /// Not the first; this one was.
    Earlier(TaskResult),
}

impl Sessions {
    fn open(&self) -> MutexGuard<'_, HashMap<ThreadId, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides which result counts; `None` when the superstep on `base` is not open here.
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
            session.results.insert(result.task, result.clone());
            return Some(Counted::Store(result.clone()));
        };
        if held.targets.is_none() && result.targets.is_some() {
            held.targets.clone_from(&result.targets);
            held.handled.clone_from(&result.handled);
            return Some(Counted::Store(held.clone()));
        }
        Some(Counted::Earlier(held.clone()))
    }

    /// Opens the superstep on `base` with the results that are stored; keeps what was opened meanwhile.
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
            session.results.entry(result.task).or_insert(result);
        }
    }

    /// Forgets the superstep of a thread: it is committed, or its commit was refused.
    pub(crate) fn end(&self, thread: &ThreadId) {
        self.open().remove(thread);
    }

    /// Forgets the supersteps of a thread and of those below it: they are deleted.
    pub(crate) fn end_on_or_below(&self, thread: &ThreadId) {
        self.open().retain(|name, _| !name.is_on_or_below(thread));
    }
}

#[cfg(test)]
mod tests {
    use superstep_core::checkpoint::StoreError;
    use uuid::Uuid;

    use super::*;
    use crate::write::deferred_errors::DeferredErrors;

    /// Only a commit took an entry out: runs that were dropped, or that stopped at a question, left theirs for
    /// as long as the program ran.
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
