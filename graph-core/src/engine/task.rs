//! A task from plan to end.

use core::fmt;

use crate::checkpoint::Cause;
use crate::graph::{END, NodeId, Targets};
use crate::node::Item;

/// The position of a task in its superstep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskNumber(u32);

impl TaskNumber {
    /// The task at this position.
    ///
    /// # Panics
    /// From 2^32 on: a superstep has fewer tasks.
    #[must_use]
    pub fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("a superstep has fewer than 2^32 tasks"))
    }

    /// The tasks of a superstep, from the first on.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=u32::MAX).map(Self)
    }

    /// The number as it is stored and reported.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// The position in a list of the superstep's tasks.
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
    /// Why.
    pub cause: Cause,
    /// The item of `each`.
    pub input: Option<Item>,
}

/// A task of a superstep, with how far it is.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) planned: PlannedTask,
    pub(super) status: Status,
}

/// The progress of a task.
#[derive(Debug)]
pub(super) enum Status {
    /// It waits for its turn under the concurrency limit.
    Waiting,
    /// Its node failed in an earlier run: the error handler waits for its turn.
    Failed,
    /// An attempt of this number runs, or waits for its retry.
    Running(u32),
    /// Its node failed, and an attempt of this number runs the error handler.
    Handling(u32),
    /// It produced its outcome and its route.
    Finished(Targets),
    /// It asked and waits for answers.
    Paused,
    /// It is not this run's.
    LeftAlone,
    /// It failed for good, or was cancelled.
    Ended,
}

impl Entry {
    pub(super) fn waiting(planned: PlannedTask) -> Self {
        Self { planned, status: Status::Waiting }
    }

    /// Where a finished task's decisions send it.
    pub(super) fn take_targets(&mut self) -> Targets {
        match core::mem::replace(&mut self.status, Status::Ended) {
            Status::Finished(targets) => targets,
            _ => END,
        }
    }
}
