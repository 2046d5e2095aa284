//! What is stored: checkpoints, and the unfinished work on top of the latest one.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize};
use smallvec::SmallVec;

use super::emitted::Emitted;
use crate::error::ErrorReport;
use crate::id::{CheckpointId, Fingerprint, IdempotencyKey, InterruptId, NodeName, RunId, TaskId, ThreadId};
use crate::state::{Change, FieldValue, Json, LoggedWrite, Schema};

/// A place in the order that the store gives to its checkpoints. Never taken from a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// A member that is there is a value, also when it is JSON's `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

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
    /// How it came about.
    pub source: Source,
    /// The schema that its field ids refer to.
    pub schema: Fingerprint,
    /// The topology it was planned with.
    pub topology: Fingerprint,
    /// The fields that changed, by field id; every other field is as in the parent.
    pub changes: Vec<Change>,
    /// The tasks that ran, in merge order.
    pub tasks: Vec<TaskRecord>,
    /// What is next.
    pub frontier: Frontier,
    /// The user's own entries.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Json>,
}

/// How a checkpoint came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// An input arrived.
    Input,
    /// A superstep finished.
    Loop,
    /// Somebody edited the state.
    Update,
    /// A copy was made to branch from.
    Fork,
}

/// What a finished task did.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handled {
    /// What the node failed with.
    pub error: ErrorReport,
    /// How many attempts the node made.
    pub attempts: u32,
    /// Whether the handler's own route stands in the place of the node's edges, joins and decisions.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub instead: bool,
}

/// A node's decision, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteRecord {
    /// The name of the case.
    pub case: String,
    /// The route, payload included.
    pub value: Json,
}

/// The tasks that come next, and what else is carried from superstep to superstep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frontier {
    /// The next superstep's tasks, in merge order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<NextTask>,
    /// Joins of which some sources have arrived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<JoinProgress>,
    /// Deferred nodes that something has led to: they run when nothing else is left to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<DeferredNode>,
    /// Where subgraphs that keep their state go on, by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Kept>,
}

impl Frontier {
    /// The nodes that are next, in merge order.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.tasks.iter().map(|task| &task.node).filter(|node| !node.is_end())
    }
}

/// Where a subgraph that keeps its state goes on when its node runs again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Why.
    pub cause: Cause,
    /// The item of `each`, or the input of a run.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub input: Option<Json>,
}

/// Positions of tasks in a superstep; the usual one or two need no allocation.
pub type Positions = SmallVec<[u32; 4]>;

/// Why a task was planned. Numbers are positions in [`Checkpoint::tasks`] of the same checkpoint.
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
        /// The item's position among all that this task sent.
        index: u32,
    },
    /// A deferred node whose turn has come: these nodes led to it, in this superstep or in earlier ones.
    Deferred(Vec<NodeName>),
}

impl NextTask {
    /// The task's id when it is planned on `base`, the checkpoint of step `step`.
    #[must_use]
    pub fn id(&self, base: CheckpointId, step: i64) -> TaskId {
        TaskId::derive(base, "", step + 1, &self.node, self.cause.each())
    }
}

impl Cause {
    /// What tells apart several tasks of one node in a superstep.
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
    /// The join's sources, which name it together with the target.
    pub sources: Vec<NodeName>,
    /// Those that have arrived.
    pub arrived: Vec<NodeName>,
}

/// A deferred node that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredNode {
    /// The node.
    pub node: NodeName,
    /// The nodes that led to it.
    pub by: Vec<NodeName>,
}

/// The result of a finished task of an unfinished superstep: a pending write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// The task.
    pub task: TaskId,
    /// Its node.
    pub node: NodeName,
    /// Its writes.
    pub writes: Vec<LoggedWrite>,
    /// Its decision.
    pub route: Option<RouteRecord>,
    /// Where routes and branches send it; `None` while the routing is still to be done.
    pub targets: Option<Vec<TargetRecord>>,
    /// Where its subgraph goes on, if that keeps its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// The node's failure, where the result is its error handler's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<Box<Handled>>,
    /// What the task emitted, where its run keeps that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emitted: Option<Box<Emitted>>,
}

/// Why a task of an unfinished superstep failed, after its retries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// The task.
    pub task: TaskId,
    /// Its node.
    pub node: NodeName,
    /// How many attempts it made in the run that failed.
    pub attempts: u32,
    /// The error of the last one.
    pub error: ErrorReport,
}

/// One target of a task, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// The node to run.
    pub node: NodeName,
    /// The item of `each`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub input: Option<Json>,
}

/// A question that a task asked, with its answer once there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskRecord {
    /// Its id.
    pub id: InterruptId,
    /// The task that asked.
    pub task: TaskId,
    /// The node that asked: the task's, or one of its subgraph's.
    pub node: NodeName,
    /// From the task's node down, the nodes whose subgraphs lead to the one that asked; empty for a question of
    /// the task's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<NodeName>,
    /// The key of the ask in the node.
    pub key: String,
    /// The position of the `Ask` that asked among the node's arguments, which says what the answer must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<u32>,
    /// The question.
    pub question: Json,
    /// When it answers itself, if nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Deadline>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub answer: Option<Json>,
    /// Who gave the answer.
    #[serde(default, skip_serializing_if = "AnsweredBy::is_caller")]
    pub answered_by: AnsweredBy,
}

/// When a question that nobody has answered answers itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadline {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The answer that it then has.
    pub default: Json,
}

/// Who gave an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// Somebody who called `answer`.
    #[default]
    Caller,
    /// Nobody: the deadline passed, and the default counts.
    Deadline,
}

impl AnsweredBy {
    /// Whether somebody answered.
    #[must_use]
    pub fn is_caller(&self) -> bool {
        *self == Self::Caller
    }
}

impl AskRecord {
    /// Whether it waits for an answer.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.answer.is_none()
    }

    /// Whether it waits for an answer though its deadline has passed.
    #[must_use]
    pub fn is_overdue(&self, now_ms: u64) -> bool {
        self.is_open() && self.deadline.as_ref().is_some_and(|deadline| deadline.at_ms <= now_ms)
    }
}

/// Names one effect of one task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EffectId {
    /// The task.
    pub task: TaskId,
    /// The effect's name.
    pub name: String,
    /// The effect's key; empty when it was run without one.
    pub key: String,
    /// How many effects with this name and key the task started before it.
    pub occurrence: u32,
}

/// One row of the effect journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// Which effect.
    pub id: EffectId,
    /// The attempt of the task in which it last started, from 1.
    pub attempt: u32,
    /// How often it started, in all attempts and all runs.
    pub starts: u32,
    /// Its idempotency key. Kept because an edit moves the effect to another task.
    pub token: IdempotencyKey,
    /// How it ended; `None` when only its start was recorded.
    pub outcome: Option<EffectOutcome>,
}

/// How an effect ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectOutcome {
    /// With this value.
    Ok(Json),
    /// With an error of this text.
    Err(String),
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
    /// How it came about.
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

/// What a graph is, for readers without the program: stored once per fingerprint.
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
