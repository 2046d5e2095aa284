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

/// Reads a member that exists as `Some`, even if its value is JSON's `null`.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// Unfinished work, to be stored on top of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// The result of a finished task, as a pending write. The first writer wins: the call returns the result that
    /// counts. A result without targets is completed by a later one with targets.
    ///
    /// If the base is no longer the head, or the thread was deleted, nothing is stored and the result is returned
    /// unchanged; the next commit reports the superstep's outcome.
    ///
    /// The result need not be durable on return, but must be before the next commit, question or flush of this
    /// thread returns.
    Finished(TaskResult),
    /// The failure of a task, which replaces an earlier failure. A task that has a result keeps the result, and a
    /// later result replaces the failure. It is as durable as a result, and likewise has no effect if the base is
    /// no longer the head.
    Failure(FailureRecord),
    /// The questions of paused tasks, durably. A question that is already stored stays unchanged, with its answer.
    /// Other unanswered questions of these tasks are deleted in the same transaction, because no task waits for
    /// their answers any longer.
    Asks(Vec<AskRecord>),
}

/// Answers to questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Answers given by a caller, all or none.
    Given {
        /// The thread.
        thread: ThreadId,
        /// The answers, with the ids of questions on the thread's head.
        answers: Vec<(InterruptId, Json)>,
    },
    /// The default answers of all overdue questions on the heads of a graph's threads: those without an answer whose
    /// deadline is not after `now_ms`. An existing answer stays, and a deadline takes effect once.
    Overdue {
        /// The graph.
        graph: NodeName,
        /// Only this thread; `None` for all of them.
        thread: Option<ThreadId>,
        /// The current time, in milliseconds since the Unix epoch.
        now_ms: u64,
    },
}

/// The reply to [`Answers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The reply to [`Answers::Given`]: the head of the thread, and all the work on top of it with these answers. A
    /// caller that holds this checkpoint need not load it again.
    OnHead {
        /// The head.
        head: CheckpointId,
        /// The work, as a load of the head returns it.
        work: Carried,
    },
    /// The reply to [`Answers::Overdue`]: the questions that received their default answers, with their threads.
    Expired(Vec<(ThreadId, AskRecord)>),
}

/// A write to the effect journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectWrite {
    /// Records, durably, that an effect is about to start; it replaces a record that it
    /// [follows](EffectRecord::follows). If there is a record that it does not follow, another run was faster:
    /// nothing is recorded, and that record is returned. Returns
    /// [`StoreError::Superseded`](super::StoreError::Superseded) if the base is not the thread's head: the effect
    /// must not start.
    Begin(EffectRecord),
    /// Records, durably, the outcome of an effect. The effect's caller continues only after this returns, so a
    /// later crash never repeats the effect. The first success counts. If the base is no longer the head, nothing
    /// is stored. Returns [`StoreError::Superseded`](super::StoreError::Superseded) if another run has recorded
    /// another success: nothing that follows from this outcome may be stored.
    ///
    /// A call that is dropped before it returns may still take effect.
    End {
        /// The effect.
        effect: EffectId,
        /// Its outcome.
        outcome: EffectOutcome,
    },
    /// Records an effect together with its outcome, and replaces an earlier record of the effect. This is for a
    /// drawn value, which is either stored or lost together with everything that follows from it. It is as durable
    /// as a result, is stored before work that is handed over later, and likewise has no effect if the base is no
    /// longer the head. The first value counts: [`StoreError::Superseded`](super::StoreError::Superseded) if
    /// another run has drawn another value, so that nothing that follows from this one may be stored. A store that
    /// does not wait reports this at the next commit.
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
    /// The targets of its routes and branches; `None` if the routing is not done yet.
    pub targets: Option<Vec<TargetRecord>>,
    /// The checkpoint from which its subgraph continues, if the subgraph keeps its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// The node's failure, if the result is its error handler's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<Box<Handled>>,
    /// The events that the task emitted, if its run keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emitted: Option<Box<Emitted>>,
}

impl TaskResult {
    /// Returns `true` if the task is finished. A result without targets still needs its routing; until
    /// then it is stored and has no other effect.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.targets.is_some()
    }
}

/// The failure of a task of an unfinished superstep, after its retries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// The task.
    pub task: TaskId,
    /// Its node.
    pub node: NodeName,
    /// The number of attempts in the run that failed.
    pub attempts: u32,
    /// The error of the last attempt.
    pub error: ErrorReport,
}

/// A stored target of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TargetRecord {
    /// The node to run.
    pub node: NodeName,
    /// The item of `each`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub input: Option<Json>,
}

/// A question of a task, with its answer once there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskRecord {
    /// Its id.
    pub id: InterruptId,
    /// The task that asked.
    pub task: TaskId,
    /// The node that asked: the task's node, or one of its subgraph.
    pub node: NodeName,
    /// The nodes whose subgraphs lead to the node that asked, from the task's node down; empty if the task's own node
    /// asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<NodeName>,
    /// The key of the ask in the node.
    pub key: String,
    /// The position of the `Ask` among the node's arguments, which determines the type of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<u32>,
    /// The question.
    pub question: Json,
    /// The deadline, at which the default becomes the answer if there is no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Deadline>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub answer: Option<Json>,
    /// The source of the answer.
    #[serde(default, skip_serializing_if = "AnsweredBy::is_caller")]
    pub answered_by: AnsweredBy,
}

/// The deadline of a question, with its default answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadline {
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The answer after that time.
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
    /// Returns `true` if the question waits for an answer.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.answer.is_none()
    }

    /// Returns `true` if the question waits for an answer and its deadline has passed.
    #[must_use]
    pub fn is_overdue(&self, now_ms: u64) -> bool {
        self.is_open() && self.deadline.as_ref().is_some_and(|deadline| deadline.at_ms <= now_ms)
    }
}

/// Identifies one effect of one task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EffectId {
    /// The task.
    pub task: TaskId,
    /// The effect's name.
    pub name: String,
    /// The effect's key; empty if it was run without one.
    pub key: String,
    /// The number of effects with this name and key that the task started before it.
    pub occurrence: u32,
}

impl EffectId {
    /// Returns `true` for an effect of a program, and `false` for an entry of the framework.
    pub(crate) fn is_users(&self) -> bool {
        !self.name.starts_with(RESERVED)
    }
}

/// The first character of the names of the framework's entries.
const RESERVED: char = '\u{1f}';

/// An entry of the effect journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// The effect.
    pub id: EffectId,
    /// The attempt of the task in which it was last started, from 1.
    pub attempt: u32,
    /// The number of its starts, in all attempts and all runs. An effect that runs again after a success, because
    /// its value no longer decodes, skips a number.
    pub starts: u32,
    /// The idempotency key. It is stored because an edit moves the effect to another task.
    pub token: IdempotencyKey,
    /// Its outcome; `None` if only its start was recorded.
    pub outcome: Option<EffectOutcome>,
}

impl EffectRecord {
    /// Returns `true` if the effect has already succeeded with another outcome, so that this one came too late.
    #[must_use]
    pub fn is_settled_otherwise(&self, outcome: &EffectOutcome) -> bool {
        matches!(&self.outcome, Some(held @ EffectOutcome::Ok(_)) if held != outcome)
    }

    /// Returns `true` if this record may replace `held`, because its start is later. A writer that replaces a
    /// success shows that it knows of the success by skipping one number.
    #[must_use]
    pub fn follows(&self, held: Option<&Self>) -> bool {
        held.is_none_or(|held| held.next_start() <= self.starts)
    }

    /// Returns the number of a start that may replace this one.
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
    /// The effect succeeded with this value.
    Ok(Json),
    /// The effect failed with this error text.
    Err(String),
}
