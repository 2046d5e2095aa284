//! Tasks, from planning to their end.

use core::fmt;

use crate::checkpoint::Cause;
use crate::graph::{END, NodeId, Targets};
use crate::node::Item;

/// The position of a task in its superstep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskNumber(u32);

impl TaskNumber {
    /// Returns the number of the task at this position.
    ///
    /// # Panics
    /// Panics from 2^32 on. A superstep has fewer tasks.
    #[must_use]
    pub fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("a superstep has fewer than 2^32 tasks"))
    }

    /// Iterates over the task numbers of a superstep, from the first one.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=u32::MAX).map(Self)
    }

    /// Returns the number in its stored and reported form.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// Returns the position in a list of the superstep's tasks.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for TaskNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A task of the next superstep.
#[derive(Clone, Debug)]
pub struct PlannedTask {
    /// The node to run.
    pub node: NodeId,
    /// The reason why it was planned.
    pub cause: Cause,
    /// The item of `each`.
    pub input: Option<Item>,
}

/// A task of a superstep, with its progress.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) planned: PlannedTask,
    pub(super) status: Status,
}

/// The progress of a task.
#[derive(Debug)]
pub(super) enum Status {
    /// The task waits for its turn under the concurrency limit.
    Waiting,
    /// The node failed in an earlier run, and the error handler waits for its turn.
    Failed,
    /// The attempt with this number runs, or waits for its retry.
    Running(u32),
    /// The node failed, and the attempt with this number runs the error handler.
    Handling(u32),
    /// The task produced its outcome and its route.
    Finished(Targets),
    /// The task asked a question and waits for answers.
    Paused,
    /// The task is not run by this run.
    LeftAlone,
    /// The task failed and is not retried, or was cancelled.
    Ended,
}

impl Entry {
    pub(super) fn waiting(planned: PlannedTask) -> Self {
        Self { planned, status: Status::Waiting }
    }

    /// Takes the targets of a finished task's decisions.
    pub(super) fn take_targets(&mut self) -> Targets {
        match core::mem::replace(&mut self.status, Status::Ended) {
            Status::Finished(targets) => targets,
            _ => END,
        }
    }
}
