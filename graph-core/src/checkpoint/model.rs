//! The stored form of a superstep, and the loaded form of a thread.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::commit::Carried;
use super::emitted::Emitted;
use super::frontier::Frontier;
use super::work::{AskRecord, EffectRecord, FailureRecord, TaskResult};
use crate::error::ErrorReport;
use crate::id::{CheckpointId, Fingerprint, NodeName, RunId, ThreadId};
use crate::state::{Change, FieldValue, Json, LoggedWrite, Schema};

/// A position in the store's order of checkpoints. It never comes from a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// The entry in a checkpoint's [metadata](Checkpoint::metadata) with the idempotency key of its request.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency_key";

/// The name of the metadata entry with the configuration of a run.
pub(crate) const CONFIGURATION: &str = "config";

/// A finished superstep: its changes, its tasks and the next tasks. It never changes once written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its id.
    pub id: CheckpointId,
    /// The checkpoint it continues; `None` for a thread's first.
    pub parent: Option<CheckpointId>,
    /// The run that wrote it.
    pub run: RunId,
    /// The step: −1 for a thread's first input, 0 for the start, 1 for the first user superstep, and so on.
    pub step: i64,
    /// Its origin.
    pub source: Source,
    /// The schema that its field ids refer to.
    pub schema: Fingerprint,
    /// The topology with which it was planned.
    pub topology: Fingerprint,
    /// The changed fields, by field id. Every other field has the same value as in the parent.
    pub changes: Vec<Change>,
    /// The tasks that ran, in merge order.
    pub tasks: Vec<TaskRecord>,
    /// The next tasks.
    pub frontier: Frontier,
    /// The user's own entries. `idempotency_key` is the key of the checkpoint's request.
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
    /// A copy was made, from which a branch begins.
    Fork,
    /// Only the state is left: the checkpoint was pruned, with its past and its next tasks, but newer checkpoints
    /// build on it. No run can continue from it.
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
    /// The targets of its routes and branches, without those of plain edges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<NodeName>,
    /// The node's failure, if its error handler produced this record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<Box<Handled>>,
}

/// A failure of a node that its error handler handled.
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

/// A stored decision of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RouteRecord {
    /// The name of the case.
    pub case: String,
    /// The route, payload included.
    pub value: Json,
}

/// A checkpoint that was read, with its unfinished work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Its place in the store's order.
    pub seq: Seq,
    /// The graph that the thread belongs to.
    pub graph: NodeName,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The values of all stored fields that were ever written, by field id of the checkpoint's schema.
    pub values: Vec<FieldValue>,
    /// The schema that those field ids refer to.
    pub schema: Schema,
    /// Results of finished tasks of the next superstep.
    pub results: Vec<TaskResult>,
    /// Failures of tasks without a result.
    pub failures: Vec<FailureRecord>,
    /// Questions of its tasks, answered or not.
    pub asks: Vec<AskRecord>,
    /// Effects of its tasks.
    pub effects: Vec<EffectRecord>,
}

/// A summary of a checkpoint, one line of a thread's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Its place in the store's order.
    pub seq: Seq,
    /// Its id.
    pub id: CheckpointId,
    /// The checkpoint it continues.
    pub parent: Option<CheckpointId>,
    /// The thread on which it was written; another thread for the shared past of a fork.
    pub thread: ThreadId,
    /// The run that wrote it.
    pub run: RunId,
    /// Its step.
    pub step: i64,
    /// Its origin.
    pub source: Source,
    /// The time at which its id was drawn, in milliseconds since the Unix epoch. It is for people, and orders
    /// nothing.
    pub created_ms: u64,
    /// The nodes that ran, in merge order.
    pub ran: Vec<NodeName>,
    /// The nodes that are next, in merge order.
    pub next: Vec<NodeName>,
    /// The user's own entries.
    pub metadata: BTreeMap<String, Json>,
}

impl Summary {
    /// Returns the summary of `checkpoint`, which was written on `thread` at `seq`.
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

/// The state of a whole thread.
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

/// The description of a graph for readers without the program, stored once per fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphDescription {
    /// The graph's name.
    pub name: String,
    /// Its state.
    pub schema: Schema,
    /// Its nodes and edges, as JSON.
    pub topology: Json,
    /// The topology's fingerprint.
    pub topology_fingerprint: Fingerprint,
}

/// A checkpoint of a thread's past with the work of its superstep and without the values of its fields. Reading it
/// folds nothing, so the cost depends on its superstep only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    /// Its place in the store's order.
    pub seq: Seq,
    /// The graph that the thread belongs to.
    pub graph: NodeName,
    /// The thread on which it was written; another thread for the shared past of a fork.
    pub thread: ThreadId,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The schema that its field ids refer to.
    pub schema: Arc<Schema>,
    /// The work on top of it from the thread that continued it: answered questions and ended effects, and on the
    /// head all unfinished work.
    pub work: Carried,
    /// The events that the tasks of its superstep emitted, by the tasks' positions, for tasks that emitted events
    /// in a run that keeps them.
    pub emitted: Vec<(u32, Emitted)>,
}
