//! The errors of runs.

use std::boxed::Box;
use std::error::Error;
use std::fmt;
use std::time::Duration;
use std::vec::Vec;

use alloc::string::String;

use super::change::{Changed, OnChange};
use super::outcome::InputStatus;
use super::thread_error::ThreadError;
use crate::checkpoint::{StoreError, rfc3339};
use crate::error::{ErrorReport, NodeError};
use crate::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use crate::state::CodecError;

/// The error of a run. Finished work is kept: `thread.resume()` continues after the cause is fixed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A node failed, after its retries.
    #[error(transparent)]
    Node(#[from] NodeFailure),
    /// The configuration of the run does not fit the type that a node takes. Nothing was run or stored: correct the
    /// member that the reason names.
    #[error("the configuration does not fit node {node:?}: {reason}")]
    Configuration {
        /// The node.
        node: NodeName,
        /// The type of its [`Configured`](crate::node::Configured) argument, and the difference.
        reason: String,
    },
    /// Two tasks of one superstep wrote a field that allows one writer.
    #[error("step {step}: nodes {first:?} and {second:?} both {verb} field {field:?} in one superstep; {advice}",
        verb = if *.overwrites { "overwrite" } else { "write" },
        advice = if *.overwrites { "let only one of them use `set_`" } else { "give it a reducer that takes several writers" })]
    Conflict {
        /// The superstep.
        step: i64,
        /// The field.
        field: String,
        /// One node.
        first: NodeName,
        /// The other.
        second: NodeName,
        /// `true` if both overwrote a field that several nodes may reduce into.
        overwrites: bool,
    },
    /// A reducer panicked, for example because a sum overflowed its type. The results of the superstep's tasks are
    /// kept.
    #[error("step {step}: merging the writes of node {node:?} panicked: {message}")]
    Reducer {
        /// The superstep.
        step: i64,
        /// The node whose writes were being merged.
        node: NodeName,
        /// The panic's message.
        message: String,
    },
    /// A superstep exceeded its timeout. Finished tasks are kept: `thread.resume()` runs the rest.
    #[error("step {step} took longer than {timeout:?}; not finished: {}", names(unfinished))]
    StepTimedOut {
        /// The superstep.
        step: i64,
        /// The superstep's timeout.
        timeout: Duration,
        /// The nodes of the tasks that had not finished, in merge order.
        unfinished: Vec<NodeName>,
    },
    /// Two tasks of one superstep ran the same subgraph with the same kept state. Give them different keys.
    #[error("step {step}: two tasks use the subgraph state that is kept as {key:?}; give each its own key")]
    KeptTwice {
        /// The superstep.
        step: i64,
        /// The key.
        key: String,
    },
    /// Another run on the thread was faster. Its result counts, and nothing of this run's superstep was stored.
    /// `input` determines how to continue; a request with [`run_once`](crate::run::Thread::run_once) can simply be
    /// repeated.
    #[error("another run moved thread {thread} on; nothing of this run's superstep was stored{}", input.advice())]
    Superseded {
        /// The thread.
        thread: ThreadId,
        /// The place of this run's input.
        input: InputStatus,
    },
    /// The request has an empty idempotency key, which it would share with every other request without one. Give
    /// each request a key of its own, or use [`run`](crate::run::Thread::run).
    #[error("a request on thread {thread} has an empty idempotency key; give each request a key of its own")]
    EmptyKey {
        /// The thread.
        thread: ThreadId,
    },
    /// Another run holds the thread. Wait for it with [`Lease::wait`](crate::run::Lease::wait), or try again later;
    /// the lease of a crashed holder expires at the given time.
    #[error("thread {thread} is run by {holder} until {}", rfc3339(*until_ms))]
    Leased {
        /// The thread.
        thread: ThreadId,
        /// The holder of the lease.
        holder: String,
        /// The time at which the lease expires unless it is renewed, in milliseconds since 1970 by the store's
        /// clock.
        until_ms: u64,
    },
    /// The run has lost its lease: its lease expired and another run took over the thread, or the lease was broken.
    /// Nothing was stored since then. The next run continues from the checkpoints and results that were stored
    /// before.
    #[error(
        "this run has lost thread {thread}{}; nothing of it was stored since",
        .to.as_ref().map(|to| alloc::format!(" to {to}")).unwrap_or_default()
    )]
    LeaseLost {
        /// The thread.
        thread: ThreadId,
        /// The new holder of the lease, if there is one.
        to: Option<String>,
    },
    /// A whole state was given to a thread that already has one. Give it an update.
    #[error(
        "thread {thread} already has a state; give it an update (`{{State}}::update()`), not a whole state"
    )]
    NotANewThread {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread was written last with another state or another graph, and the graph's policy,
    /// [`on_change`](crate::run::Graph::on_change), does not allow it to continue.
    #[error("checkpoint {checkpoint} of thread {thread} was written under another {changed}, and the graph's policy is \
         {policy:?}: {}", match policy {
            OnChange::Pin => "finish it with the program that began it, or give the thread a new input",
            _ => "run it with the program that wrote it",
        })]
    Changed {
        /// The thread.
        thread: ThreadId,
        /// Its latest checkpoint.
        checkpoint: CheckpointId,
        /// The difference: the state, the graph, or both.
        changed: Changed,
        /// The graph's policy.
        policy: OnChange,
    },
    /// The thread belongs to a subgraph, so only the thread above can run it.
    #[error("thread {thread:?} belongs to a subgraph; run the thread above it")]
    Subgraph {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread never ran, so there is nothing to resume.
    #[error("thread {thread} has never run")]
    NothingToResume {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread has no open question.
    #[error("thread {thread} has no open question")]
    NothingAsked {
        /// The thread.
        thread: ThreadId,
    },
    /// Several questions are open. Answer by id with `answer_to` or `answers`.
    #[error("thread {thread} asks {} open questions; name the one to answer ({})", .open.len(), list(open))]
    WhichQuestion {
        /// The thread.
        thread: ThreadId,
        /// The open questions.
        open: Vec<InterruptId>,
    },
    /// The answer does not fit the question; the question stays open.
    #[error("the answer to question {interrupt} of node {node:?} does not fit: {reason}")]
    WrongAnswer {
        /// The question.
        interrupt: InterruptId,
        /// The node that asked.
        node: NodeName,
        /// The reason.
        reason: CodecError,
    },
    /// A value could not be encoded.
    #[error("{what} cannot be stored: {reason}")]
    Encode {
        /// The value.
        what: String,
        /// The reason.
        reason: CodecError,
    },
    /// A test runs a node [alone](crate::testing::node) that takes an item, but provides none.
    #[error(
        "node {node:?} takes an item of type {takes}, and the test gives it none; give it one with `.input(..)`"
    )]
    NoItem {
        /// The node.
        node: NodeName,
        /// The type of the item.
        takes: String,
    },
    /// A test runs a node [alone](crate::testing::node) and sets results of effects that the node did not reach.
    #[error("node {node:?} did not use the test's results of {}{}", .effects.join(", "), failed(.failure.as_deref()))]
    UnusedEffects {
        /// The node.
        node: NodeName,
        /// The unused effects with their keys, once per unused result.
        effects: Vec<String>,
        /// The node's failure, if it failed.
        failure: Option<Box<NodeFailure>>,
    },
    /// The thread could not be read or written.
    #[error(transparent)]
    Thread(#[from] ThreadError),
}

/// Returns the text about a node's failure that is appended to another problem.
fn failed(failure: Option<&NodeFailure>) -> String {
    failure.map(|failure| alloc::format!("; {failure}")).unwrap_or_default()
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        match error {
            // The caller adds the place of the run's input, if it knows of one.
            StoreError::Superseded { thread, .. } => {
                Self::Superseded { thread, input: InputStatus::NotGiven }
            }
            StoreError::LeaseLost { thread, to } => Self::LeaseLost { thread, to },
            error => Self::Thread(error.into()),
        }
    }
}

/// The failure of a node.
#[derive(Debug)]
pub struct NodeFailure {
    /// The node.
    pub node: NodeName,
    /// The superstep.
    pub step: i64,
    /// The number of the last attempt, from 1.
    pub attempt: u32,
    /// The error, with a source that can be downcast.
    pub error: NodeError,
    /// The node's own error, if `error` is that of its error handler.
    pub handling: Option<Box<ErrorReport>>,
}

impl fmt::Display for NodeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(handled) = &self.handling {
            let Self { node, step, error, .. } = self;
            return write!(
                f,
                "the error handler of node {node:?} failed at step {step}: {error} (handling: {handled})"
            );
        }
        write!(f, "node {:?} failed at step {}", self.node, self.step)?;
        if self.attempt > 1 {
            write!(f, " after {} attempts", self.attempt)?;
        }
        write!(f, ": {}", self.error)
    }
}

impl Error for NodeFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.error.source())
    }
}

pub(super) fn names(nodes: &[NodeName]) -> String {
    nodes.iter().map(|node| alloc::format!("{node:?}")).collect::<Vec<_>>().join(", ")
}

fn list(ids: &[InterruptId]) -> String {
    ids.iter().map(|id| alloc::format!("{id}")).collect::<Vec<_>>().join(", ")
}
