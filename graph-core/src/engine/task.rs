//! A task from plan to end.

use crate::checkpoint::Cause;
use crate::graph::{END, NodeId, Targets};
use crate::node::Item;

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

/// How far a task is.
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
