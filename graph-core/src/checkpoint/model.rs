//! The stored form of a superstep, and the loaded form of a thread.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::frontier::Frontier;
use super::work::{AskRecord, EffectRecord, FailureRecord, TaskResult};
use crate::error::ErrorReport;
use crate::id::{CheckpointId, Fingerprint, NodeName, RunId, ThreadId};
use crate::state::{Change, FieldValue, Json, LoggedWrite, Schema};

/// A place in the order that the store gives to its checkpoints. Never taken from a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// The entry of a checkpoint's [metadata](Checkpoint::metadata) with the idempotency key of the request that it is of.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency_key";

/// One finished superstep: what changed, what ran, what is next. Immutable once written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its id.
    pub id: CheckpointId,
    /// The checkpoint it continues; `None` for a thread's first.
    pub parent: Option<CheckpointId>,
    /// The run that wrote it.
    pub run: RunId,
    /// −1 for a thread's first input, 0 for the start, 1 for the first user superstep, and so on.
    pub step: i64,
    /// Its origin.
    pub source: Source,
    /// The schema that its field ids refer to.
    pub schema: Fingerprint,
    /// The topology it was planned with.
    pub topology: Fingerprint,
    /// The fields that changed, by field id; every other field is as in the parent.
    pub changes: Vec<Change>,
    /// The tasks that ran, in merge order.
    pub tasks: Vec<TaskRecord>,
    /// The next tasks.
    pub frontier: Frontier,
    /// The user's own entries. `idempotency_key` is that of the request that the checkpoint is of.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Json>,
}

/// The origin of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// An input arrived.
    Input,
    /// A superstep finished.
    Loop,
    /// An edit of the state.
    Update,
    /// A copy was made to branch from.
    Fork,
    /// Only its state is left: the checkpoint was pruned, with what led to it and its next tasks, and newer ones build
    /// on it. No run continues from it.
    Pruned,
}

/// The writes, the decision and the targets of a finished task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The node that ran.
    pub node: NodeName,
    /// Its writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<LoggedWrite>,
    /// Its decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<RouteRecord>,
    /// Where routes and branches sent it, beside its plain edges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<NodeName>,
    /// The node's failure, where its error handler did all this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<Box<Handled>>,
}

/// A failure of a node that its error handler dealt with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Handled {
    /// The error of the node.
    pub error: ErrorReport,
    /// The number of attempts that the node made.
    pub attempts: u32,
    /// `true` if the handler's own route replaces the node's edges, joins and decisions.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub instead: bool,
}

/// A node's decision, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RouteRecord {
    /// The name of the case.
    pub case: String,
    /// The route, payload included.
    pub value: Json,
}

/// A checkpoint as it is read back, with the work that is unfinished on top of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Its place in the store's order.
    pub seq: Seq,
    /// The graph that the thread belongs to.
    pub graph: NodeName,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The value of every stored field that was ever written, by field id of the checkpoint's schema.
    pub values: Vec<FieldValue>,
    /// The schema that those field ids refer to.
    pub schema: Schema,
    /// Results of finished tasks of the next superstep.
    pub results: Vec<TaskResult>,
    /// Failures of its tasks that have no result.
    pub failures: Vec<FailureRecord>,
    /// Questions of its tasks, answered or not.
    pub asks: Vec<AskRecord>,
    /// Effects of its tasks.
    pub effects: Vec<EffectRecord>,
}

/// One line of a thread's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Its place in the store's order.
    pub seq: Seq,
    /// Its id.
    pub id: CheckpointId,
    /// The checkpoint it continues.
    pub parent: Option<CheckpointId>,
    /// The thread it was written on: another one for the shared past of a fork.
    pub thread: ThreadId,
    /// The run that wrote it.
    pub run: RunId,
    /// Its step.
    pub step: i64,
    /// Its origin.
    pub source: Source,
    /// When its id was drawn, in milliseconds since the Unix epoch. For people; it orders nothing.
    pub created_ms: u64,
    /// The nodes that ran, in merge order.
    pub ran: Vec<NodeName>,
    /// The nodes that are next, in merge order.
    pub next: Vec<NodeName>,
    /// The user's own entries.
    pub metadata: BTreeMap<String, Json>,
}

impl Summary {
    /// The summary of `checkpoint`, which was written on `thread` at `seq`.
    #[must_use]
    pub fn of(seq: Seq, thread: &ThreadId, checkpoint: &Checkpoint) -> Self {
        Self {
            seq,
            id: checkpoint.id,
            parent: checkpoint.parent,
            thread: thread.clone(),
            run: checkpoint.run,
            step: checkpoint.step,
            source: checkpoint.source,
            created_ms: checkpoint.id.unix_ms(),
            ran: checkpoint.tasks.iter().map(|task| task.node.clone()).collect(),
            next: checkpoint.frontier.nodes().cloned().collect(),
            metadata: checkpoint.metadata.clone(),
        }
    }
}

/// The state of a thread as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSummary {
    /// The thread.
    pub thread: ThreadId,
    /// The graph it belongs to.
    pub graph: String,
    /// Its latest checkpoint.
    pub head: Summary,
    /// Open questions of its pending tasks.
    pub open_asks: Vec<AskRecord>,
}

/// The description of a graph for readers without the program: stored once per fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphDescription {
    /// The graph's name.
    pub name: String,
    /// Its state.
    pub schema: Schema,
    /// Its nodes and wiring, as JSON.
    pub topology: Json,
    /// The topology's fingerprint.
    pub topology_fingerprint: Fingerprint,
}
