//! The unfinished work on top of a checkpoint: results, failures, questions and effects.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize};

use super::commit::Carried;
use super::emitted::Emitted;
use super::frontier::Kept;
use super::model::{Handled, RouteRecord};
use crate::error::ErrorReport;
use crate::id::{CheckpointId, IdempotencyKey, InterruptId, NodeName, TaskId, ThreadId};
use crate::state::{Json, LoggedWrite};

/// A member that is there is a value, also when it is JSON's `null`.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// Unfinished work, to be stored on top of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// The result of a finished task, as a pending write. The first writer wins: the result
    /// that counts is the one returned. A result without targets is completed by a later one with targets.
    ///
    /// When the base is no longer the head, or the thread was deleted, nothing is stored and the result is returned as
    /// it is: the commit that follows says what became of the superstep.
    ///
    /// It need not be durable on return, but it is before the next commit, question or flush of this thread returns.
    Finished(TaskResult),
    /// The failure of a task; it replaces an earlier failure. A task that has a result keeps the result, and a later
    /// result replaces the failure. It is as durable as a result, and likewise has no effect when the base is no longer
    /// the head.
    Failure(FailureRecord),
    /// The questions of paused tasks, durably. A question that is already stored is left unchanged, with its answer.
    /// Unanswered questions of these tasks that are not among them are deleted in the same transaction, because no task
    /// waits for their answers any more.
    Asks(Vec<AskRecord>),
}

/// Answers to questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Answers given by a caller, all or none.
    Given {
        /// The thread.
        thread: ThreadId,
        /// The questions of its head that they answer.
        answers: Vec<(InterruptId, Json)>,
    },
    /// The defaults of the questions on the heads of a graph's threads that wait for an answer though their deadline is not
    /// after `now_ms`. An answer that came first stays, and a deadline counts once.
    Overdue {
        /// The graph.
        graph: NodeName,
        /// Only of this thread; `None` for all of them.
        thread: Option<ThreadId>,
        /// Now, in milliseconds since the Unix epoch.
        now_ms: u64,
    },
}

/// The reply to [`Answers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// To [`Answers::Given`]: the head of the thread, and all the work on top of it with these answers. A caller that
    /// holds this checkpoint need not load it again.
    OnHead {
        /// The head.
        head: CheckpointId,
        /// The work, as a load of the head returns it.
        work: Carried,
    },
    /// To [`Answers::Overdue`]: the questions that their deadlines have answered.
    Expired(Vec<(ThreadId, AskRecord)>),
}

/// A write to the effect journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectWrite {
    /// Records, durably, that an effect is about to start; it replaces a record that it
    /// [follows](EffectRecord::follows). If there is a record that it does not follow, another run was faster: nothing
    /// is recorded, and that record is returned. [`StoreError::Superseded`](super::StoreError::Superseded) when the
    /// base is not the thread's head: the effect must not start.
    Begin(EffectRecord),
    /// Records, durably, how an effect ended: the effect's caller continues only when this returns, so a crash after
    /// that never repeats the effect. The first success counts. When the base is no longer the head, nothing is stored.
    /// [`StoreError::Superseded`](super::StoreError::Superseded) when another run has recorded another success: nothing
    /// that follows from this outcome may be stored.
    ///
    /// A call that is dropped before it returns may still be carried out.
    End {
        /// Which effect.
        effect: EffectId,
        /// Its outcome.
        outcome: EffectOutcome,
    },
    /// Records an effect together with its outcome; it replaces an earlier record of the effect. This is for a drawn
    /// value, which is either stored or lost with everything that follows from it. It is as durable as a result, is
    /// stored before work that is handed over later, and likewise has no effect when the base is no longer the head.
    /// The first value counts: [`StoreError::Superseded`](super::StoreError::Superseded) when another run has drawn
    /// another value, so that nothing that follows from this one may be stored. A store that does not wait reports this
    /// at the next commit.
    Note(EffectRecord),
}

/// The result of a finished task of an unfinished superstep: a pending write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// The checkpoint from which its subgraph continues, if the subgraph keeps its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// The node's failure, where the result is its error handler's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<Box<Handled>>,
    /// The events that the task emitted, if its run keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emitted: Option<Box<Emitted>>,
}

impl TaskResult {
    /// Returns `true` if the task is finished. A result without targets still has its routing to be done: it is kept in
    /// the store, and has no other effect.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.targets.is_some()
    }
}

/// Why a task of an unfinished superstep failed, after its retries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// The task.
    pub task: TaskId,
    /// Its node.
    pub node: NodeName,
    /// The number of attempts in the run that failed.
    pub attempts: u32,
    /// The error of the last one.
    pub error: ErrorReport,
}

/// One target of a task, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// The time at which its default becomes its answer, if it has no answer until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Deadline>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub answer: Option<Json>,
    /// The source of the answer.
    #[serde(default, skip_serializing_if = "AnsweredBy::is_caller")]
    pub answered_by: AnsweredBy,
}

/// The time at which an unanswered question gets its default as the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadline {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The answer that it then has.
    pub default: Json,
}

/// The source of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// A caller of `answer`.
    #[default]
    Caller,
    /// The default of the question, after its deadline passed.
    Deadline,
}

impl AnsweredBy {
    /// Returns `true` if a caller gave the answer.
    #[must_use]
    pub fn is_caller(&self) -> bool {
        *self == Self::Caller
    }
}

impl AskRecord {
    /// Returns `true` if it waits for an answer.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.answer.is_none()
    }

    /// Returns `true` if it waits for an answer although its deadline has passed.
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
    /// The number of effects with this name and key that the task started before it.
    pub occurrence: u32,
}

impl EffectId {
    /// Returns `true` if it is an effect of a program, and not a row of the framework's own.
    pub(crate) fn is_users(&self) -> bool {
        !self.name.starts_with(RESERVED)
    }
}

/// The first character of the names of the framework's own rows.
const RESERVED: char = '\u{1f}';

/// One row of the effect journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// Which effect.
    pub id: EffectId,
    /// The attempt of the task in which it last started, from 1.
    pub attempt: u32,
    /// The number of its starts, in all attempts and all runs. An effect that runs again after a success, because its
    /// value no longer decodes, skips a number.
    pub starts: u32,
    /// Its idempotency key. Kept because an edit moves the effect to another task.
    pub token: IdempotencyKey,
    /// Its outcome; `None` if only its start was recorded.
    pub outcome: Option<EffectOutcome>,
}

impl EffectRecord {
    /// Returns `true` if it has already succeeded with another outcome, so that this one came too late.
    #[must_use]
    pub fn is_settled_otherwise(&self, outcome: &EffectOutcome) -> bool {
        matches!(&self.outcome, Some(held @ EffectOutcome::Ok(_)) if held != outcome)
    }

    /// Returns `true` if it may replace `held`: it has a later start. A writer that replaces a success has seen it, and
    /// shows this by skipping one start.
    #[must_use]
    pub fn follows(&self, held: Option<&Self>) -> bool {
        held.is_none_or(|held| held.next_start() <= self.starts)
    }

    /// The number of a start that may take its place.
    #[must_use]
    pub fn next_start(&self) -> u32 {
        let succeeded = matches!(self.outcome, Some(EffectOutcome::Ok(_)));
        self.starts.saturating_add(if succeeded { 2 } else { 1 })
    }
}

/// The outcome of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectOutcome {
    /// With this value.
    Ok(Json),
    /// With an error of this text.
    Err(String),
}
