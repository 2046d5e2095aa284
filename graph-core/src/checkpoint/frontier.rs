//! The frontier: the next tasks, and the data that is carried from superstep to superstep.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::work::present;
use crate::id::{CheckpointId, NodeName, TaskId, ThreadId};
use crate::state::Json;

/// The next tasks, and the other data that is carried from superstep to superstep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frontier {
    /// The next superstep's tasks, in merge order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<NextTask>,
    /// Joins with some sources that have arrived, and some that have not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<JoinProgress>,
    /// Deferred nodes that other nodes led to. They run when nothing else is left to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<DeferredNode>,
    /// The checkpoints from which subgraphs that keep their state continue, by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Kept>,
}

impl Frontier {
    /// Returns the next nodes, in merge order.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.tasks.iter().map(|task| &task.node).filter(|node| !node.is_end())
    }
}

/// The checkpoint from which a subgraph that keeps its state continues when its node runs again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kept {
    /// The key under which the state is kept.
    pub key: String,
    /// The thread of the subgraph's last run.
    pub thread: ThreadId,
    /// The checkpoint at which that run ended.
    pub checkpoint: CheckpointId,
}

/// A planned task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextTask {
    /// The node to run.
    pub node: NodeName,
    /// The reason why it was planned.
    pub cause: Cause,
    /// The item of `each`, or the input of a run.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub input: Option<Json>,
}

/// Positions of tasks in a superstep. The usual one or two need no allocation.
pub type Positions = SmallVec<[u32; 4]>;

/// The reason why a task was planned. Numbers are positions in [`Checkpoint::tasks`](super::Checkpoint::tasks) of
/// the same checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// An input arrived.
    Input,
    /// Edges, routes or branches of these tasks.
    Tasks(Positions),
    /// A join that these tasks completed.
    Join(Positions),
    /// One item of an `each`.
    Each {
        /// The task that made the items.
        by: u32,
        /// The item's position among all items that this task sent.
        index: u32,
    },
    /// A deferred node that became due. These nodes led to it, in this superstep or in earlier ones.
    Deferred(Vec<NodeName>),
}

impl NextTask {
    /// Returns the task's id when it is planned on `base`, the checkpoint of step `step`.
    #[must_use]
    pub fn id(&self, base: CheckpointId, step: i64) -> TaskId {
        TaskId::derive(base, "", step + 1, &self.node, self.cause.each())
    }

    /// Returns `true` if an edit that put `other` on top of this task's checkpoint gave it this task's work.
    pub(crate) fn is_carried_as(&self, other: &Self) -> bool {
        self.node == other.node && self.cause.each() == other.cause.each() && self.input == other.input
    }
}

impl Cause {
    /// Returns the position of the sending task and the index of the item, for an item of `each`. They distinguish
    /// several tasks of one node in a superstep.
    #[must_use]
    pub fn each(&self) -> Option<(u32, u32)> {
        match self {
            Self::Each { by, index } => Some((*by, *index)),
            _ => None,
        }
    }
}

/// A join that waits for more of its sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinProgress {
    /// The joined node.
    pub target: NodeName,
    /// The join's sources. Together with the target they identify the join.
    pub sources: Vec<NodeName>,
    /// The sources that have arrived.
    pub arrived: Vec<NodeName>,
}

/// A deferred node that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredNode {
    /// The node.
    pub node: NodeName,
    /// The nodes that led to it.
    pub by: Vec<NodeName>,
}
