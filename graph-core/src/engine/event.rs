//! The events that the machine handles.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::phase::Barrier;
use super::plan::Arrivals;
use super::task::{Entry, PlannedTask, Status, TaskNumber};
use crate::checkpoint::{Committed, Loaded};
use crate::graph::Targets;

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A run begins. The first event, and the only one in which run, resume and fork differ. Also the answer to
    /// [`Command::Adopt`](super::Command::Adopt).
    Begin(Begin),
    /// A task produced its outcome and its route.
    TaskFinished {
        /// Which.
        task: TaskNumber,
        /// Where routes and branches send it, beside its plain edges.
        targets: Targets,
    },
    /// A task asked a question and waits.
    TaskPaused {
        /// Which.
        task: TaskNumber,
    },
    /// An attempt of a task failed.
    AttemptFailed {
        /// Which.
        task: TaskNumber,
        /// The next step that the node's policies allow.
        failure: Failure,
    },
    /// A task produced its outcome, and its routing failed: nothing says where it leads.
    RoutingFailed {
        /// Which.
        task: TaskNumber,
    },
    /// Another driver recorded a result of the running superstep before this one did: the other result counts.
    Outrun,
    /// Everything that was recorded is stored: the answer to [`Command::Settle`](super::Command::Settle).
    Settled,
    /// The answer to [`Command::Reload`](super::Command::Reload).
    Reloaded(Head),
    /// The store's answer to a commit; without a store, [`Committed::New`].
    Committed(Box<Barrier>, Committed),
    /// The writes of the superstep cannot be merged: they conflict, a reducer panicked, a value has no JSON form.
    Unmergeable(Box<Barrier>),
    /// The store refused a write of a task: another run has the thread.
    Superseded,
    /// The caller wants the run to stop now. Legal while tasks run.
    Cancel,
    /// The superstep took longer than it may. Does nothing at a barrier.
    TimedOut,
    /// The caller wants the run to stop at the next barrier. Legal at any time.
    Drain,
}

/// Where a run begins.
#[derive(Debug)]
pub enum Begin {
    /// With a new input on top of a checkpoint.
    Input {
        /// The last checkpoint's step; `None` on a new thread.
        last_step: Option<i64>,
    },
    /// With the unfinished work of a checkpoint.
    Resume(Restored),
    /// With one task of that work: the others are left alone, and the superstep is not committed.
    Task(Restored, TaskNumber),
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
    /// Tasks that finished before, by position, with their targets.
    pub finished: Vec<(TaskNumber, Targets)>,
    /// Tasks whose node failed before, by position: what is left to run is its error handler.
    pub failed: Vec<TaskNumber>,
}

impl Restored {
    /// Makes these tasks the next ones of a superstep, and returns the joins that wait.
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
    /// No other attempt.
    NoneLeft {
        /// The node has an error handler, which runs next unless it is what failed.
        has_handler: bool,
    },
    /// Nothing, not even the error handler, and the failure is not recorded: the run follows a recording that has
    /// no more.
    OffRecord,
}

/// The head of the thread, seen from the running superstep.
#[derive(Debug)]
pub enum Head {
    /// The checkpoint that the superstep stands on, or one that another driver of the same run wrote since.
    Ours(Box<Loaded>),
    /// A checkpoint of another run.
    Foreign,
}
