//! The events that the machine handles.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::phase::Barrier;
use super::plan::Arrivals;
use super::task::{Entry, PlannedTask, Status, TaskNumber};
use crate::checkpoint::{Committed, Loaded};
use crate::graph::Targets;

/// An event that the driver reports.
#[derive(Debug)]
pub enum Event {
    /// A run begins: the first event, and the only one in which run, resume and fork differ. It is also the answer
    /// to [`Command::Adopt`](super::Command::Adopt).
    Begin(Begin),
    /// A task produced its outcome and its route.
    TaskFinished {
        /// The task.
        task: TaskNumber,
        /// The targets of its routes and branches, in addition to its plain edges.
        targets: Targets,
    },
    /// A task asked a question and waits.
    TaskPaused {
        /// The task.
        task: TaskNumber,
    },
    /// An attempt of a task failed.
    AttemptFailed {
        /// The task.
        task: TaskNumber,
        /// The next step that the node's policies allow.
        failure: Failure,
    },
    /// A task produced its outcome, but its routing failed, so its targets are unknown.
    RoutingFailed {
        /// The task.
        task: TaskNumber,
    },
    /// Another driver recorded a result of the running superstep before this one. That result counts.
    Outrun,
    /// All recorded work is stored: the answer to [`Command::Settle`](super::Command::Settle).
    Settled,
    /// The answer to [`Command::Reload`](super::Command::Reload).
    Reloaded(Head),
    /// The store's answer to a commit; without a store, [`Committed::New`].
    Committed(Box<Barrier>, Committed),
    /// The writes of the superstep cannot be merged: they conflict, a reducer panicked, or a value has no JSON
    /// form.
    Unmergeable(Box<Barrier>),
    /// The store rejected a write of a task, because another run has the thread.
    Superseded,
    /// The caller wants the run to stop now. Legal while tasks run.
    Cancel,
    /// The superstep exceeded its timeout. Ignored at a barrier.
    TimedOut,
    /// The caller wants the run to stop at the next barrier. Legal at any time.
    Drain,
}

/// The start of a run.
#[derive(Debug)]
pub enum Begin {
    /// A new input on top of a checkpoint.
    Input {
        /// The last checkpoint's step; `None` on a new thread.
        last_step: Option<i64>,
    },
    /// The unfinished work of a checkpoint.
    Resume(Box<Restored>),
    /// One task of the unfinished work. The other tasks are left alone, and the superstep is not committed.
    Task(Box<Restored>, TaskNumber),
}

/// The unfinished work of a checkpoint.
#[derive(Debug)]
pub struct Restored {
    /// The checkpoint's step.
    pub step: i64,
    /// Its next tasks, in merge order.
    pub tasks: Vec<PlannedTask>,
    /// Its waiting joins.
    pub joins: Arrivals,
    /// The positions and targets of tasks that finished earlier.
    pub finished: Vec<(TaskNumber, Targets)>,
    /// The positions of tasks whose node failed earlier, so that only its error handler is left to run.
    pub failed: Vec<TaskNumber>,
}

impl Restored {
    /// Stores these tasks in `next`, and returns the waiting joins.
    pub(super) fn fill(self, next: &mut Vec<Entry>) -> Arrivals {
        next.clear();
        next.extend(self.tasks.into_iter().map(Entry::waiting));
        for task in self.failed {
            next[task.index()].status = Status::Failed;
        }
        for (task, targets) in self.finished {
            next[task.index()].status = Status::Finished(targets);
        }
        self.joins
    }
}

/// The next step that a node's policies allow after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Another attempt, after a wait.
    Retry {
        /// The wait.
        after: Duration,
    },
    /// No further attempt.
    NoneLeft {
        /// `true` if the node has an error handler that has not failed itself; it runs next.
        has_handler: bool,
    },
    /// No further attempt and no error handler, and the failure is not recorded: the run follows a recording, which
    /// has ended.
    OffRecord,
}

/// The head of the thread, as seen by the running superstep.
#[derive(Debug)]
pub enum Head {
    /// The checkpoint on which the superstep is based, or a newer one that another driver of the same run wrote.
    Ours(Box<Loaded>),
    /// A checkpoint of another run.
    Foreign,
}
