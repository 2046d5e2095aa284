//! The outcome of a run: its status, its state and its open questions.

use std::boxed::Box;
use std::vec::Vec;

use alloc::string::String;
use alloc::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checkpoint::Deadline;
use crate::id::{CheckpointId, InterruptId, NodeName, RunId, ThreadId};
use crate::state::{CodecError, Json, StateForm};

/// A run that ended without an error: it finished, or it can be continued.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a run may have paused or reached its limit; look at its status"]
pub struct Run<S> {
    /// The thread.
    pub thread: ThreadId,
    /// The run.
    pub run: RunId,
    /// The thread's latest checkpoint; `None` without a checkpointer.
    pub checkpoint: Option<CheckpointId>,
    /// The step of the latest checkpoint.
    pub step: i64,
    /// The status that the run ended with.
    pub status: Status,
    /// The state as of the latest barrier, which is not copied, however large it is: the graph shares it, and may keep
    /// it in memory for the thread's next run. That run copies the state if it is still held here.
    pub state: Arc<S>,
}

/// The status with which a run ended. Every status except [`Finished`](Self::Finished) leaves a thread that can be
/// continued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// No task is next.
    Finished,
    /// Tasks wait for answers. Answer with `thread.answer(..)`.
    Interrupted {
        /// The open questions.
        interrupts: Vec<Interrupt>,
    },
    /// The run stopped at a barrier with a breakpoint. `thread.resume()` passes it.
    Breakpoint {
        /// The nodes before which it stopped, which are next.
        before: Vec<NodeName>,
        /// The nodes after which it stopped, which ran last.
        after: Vec<NodeName>,
    },
    /// The run reached its recursion limit. `thread.resume()` continues with the same limit again.
    LimitReached {
        /// The recursion limit.
        limit: u64,
    },
    /// The run was cancelled. `thread.resume()` continues it.
    Cancelled,
    /// The run stopped at a barrier at the caller's request. `thread.resume()` continues it.
    Drained,
    /// The single task that was run has finished, and its result is recorded. `thread.resume()` runs the other
    /// tasks of its superstep and commits it. See [`run_task`](crate::run::Thread::run_task).
    TaskRecorded,
}

impl Status {
    /// Returns the status as in its JSON form.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted { .. } => "interrupted",
            Self::Breakpoint { .. } => "breakpoint",
            Self::LimitReached { .. } => "limit_reached",
            Self::Cancelled => "cancelled",
            Self::Drained => "drained",
            Self::TaskRecorded => "task_recorded",
        }
    }
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// The id of the question, for its answer.
    pub id: InterruptId,
    /// The node that asked.
    pub node: NodeName,
    /// The nodes whose subgraphs lead to the node that asked, from the graph at the top down; empty for a node of
    /// the graph itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<NodeName>,
    /// The key of the ask in the node.
    pub key: String,
    /// The position of the `Ask` that asked among the node's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<u32>,
    /// The question.
    pub question: Json,
    /// The deadline, after which the default answer applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Deadline>,
    /// The JSON Schema of the question; `None` when the graph has no such node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_schema: Option<Json>,
    /// The JSON Schema of its answers; `None` when the graph has no such node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Json>,
}

impl Interrupt {
    /// Decodes the question as a `Q`.
    ///
    /// # Errors
    /// Returns an error if the question does not decode.
    pub fn question<Q: DeserializeOwned>(&self) -> Result<Q, CodecError> {
        self.question.decode()
    }
}

impl<S: StateForm> Run<S> {
    /// Returns the state by value, whatever the status. If the graph keeps it in memory, this copies it.
    #[must_use]
    pub fn into_state(self) -> S {
        S::owned(self.state)
    }

    /// Returns the result of a finished run: its final state, or the return value of a [flow](crate::run::flow). Like
    /// [`into_state`](Self::into_state), this may copy the state.
    ///
    /// # Errors
    /// Returns [`Unfinished`] if the run paused, was cancelled or reached its limit, or if the stored value of a
    /// flow does not decode.
    pub fn finished(self) -> Result<S::Finished, Unfinished> {
        let Self { thread, status, state, .. } = self;
        match status {
            Status::Finished => S::owned(state).finished().map_err(|reason| Unfinished {
                reason: Some(reason),
                ..Unfinished::instead_of("to return a value", thread, status)
            }),
            status => Err(Unfinished::instead_of("to finish", thread, status)),
        }
    }

    /// Returns the open questions of a paused run.
    ///
    /// # Errors
    /// Returns [`Unfinished`] if the run did not pause.
    pub fn interrupted(self) -> Result<Vec<Interrupt>, Unfinished> {
        match self.status {
            Status::Interrupted { interrupts } => Ok(interrupts),
            status => Err(Unfinished::instead_of("to pause", self.thread, status)),
        }
    }
}

/// The error of a run that ended with another status than its caller expects.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", told(self))]
pub struct Unfinished {
    /// The thread.
    pub thread: ThreadId,
    expected: &'static str,
    /// The reason why the value of a finished run does not decode: the flow was changed after it returned the
    /// value.
    pub(crate) reason: Option<CodecError>,
    /// The status that the run ended with.
    pub status: Box<Status>,
}

impl Unfinished {
    pub(crate) fn instead_of(expected: &'static str, thread: ThreadId, status: Status) -> Self {
        Self { thread, expected, reason: None, status: Box::new(status) }
    }
}

fn told(Unfinished { thread, expected, reason, status }: &Unfinished) -> String {
    match reason {
        Some(reason) => {
            alloc::format!("what the flow returned on thread {thread} does not decode: {reason}")
        }
        None => alloc::format!("the run on thread {thread} was expected {expected}, but {}", how(status)),
    }
}

fn how(status: &Status) -> String {
    match status {
        Status::Finished => "it finished".into(),
        Status::Interrupted { interrupts } => {
            let questions: Vec<String> =
                interrupts.iter().map(|ask| alloc::format!("{} asks {}", ask.node, ask.question)).collect();
            alloc::format!("it waits for answers: {}", questions.join("; "))
        }
        Status::Breakpoint { before, after } => {
            let side = |side: &str, nodes: &[NodeName]| {
                let names: Vec<String> =
                    nodes.iter().map(|node| alloc::format!("{:?}", node.as_str())).collect();
                (!names.is_empty()).then(|| alloc::format!("{side} {}", names.join(", ")))
            };
            let sides: Vec<String> =
                [side("before", before), side("after", after)].into_iter().flatten().collect();
            alloc::format!("it stopped at a breakpoint {}", sides.join(" and "))
        }
        Status::LimitReached { limit } => alloc::format!("it reached its limit of {limit} supersteps"),
        Status::Cancelled => "it was cancelled".into(),
        Status::Drained => "it was asked to stop at a barrier".into(),
        Status::TaskRecorded => "it ran one task of its superstep".into(),
    }
}

/// The place of a superseded run's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputStatus {
    /// The run had no input, because it resumed or answered.
    NotGiven,
    /// The thread does not have the input: nothing was stored, or another run's input replaced it before it was
    /// merged. Run it again.
    NotStored,
    /// The input is stored but not merged, because an edit came in between. `thread.resume()` merges it and runs
    /// the graph; another input replaces it.
    Waiting,
    /// The state contains the input. `thread.resume()` continues from there. Running the input again adds it a
    /// second time, unless it was run with [`run_once`](crate::run::Thread::run_once).
    Merged,
}

impl InputStatus {
    /// Returns the end of an error message.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::NotGiven => "",
            Self::NotStored => "; the thread does not have its input: run it again",
            Self::Waiting => "; its input is stored and waits to be merged: resume the thread",
            Self::Merged => {
                "; its input is in the thread's state: resume the thread, and do not run the input again"
            }
        }
    }
}
