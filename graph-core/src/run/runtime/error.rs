//! The errors of runs and of access to threads.

use std::boxed::Box;
use std::error::Error;
use std::fmt;
use std::time::Duration;
use std::vec::Vec;

use alloc::string::{String, ToString};

use super::change::{Changed, OnChange};
use super::outcome::InputStatus;
use crate::checkpoint::{InvalidName, StoreError, rfc3339};
use crate::engine::restore::RestoreError;
use crate::error::{ErrorReport, NodeError};
use crate::graph::{Program, Topology};
use crate::id::{CheckpointId, InterruptId, NodeName, TaskId, ThreadId};
use crate::state::{CodecError, JsonError, LoadError, Misfit, suggestion};

/// The error of a run. Finished work is kept: `thread.resume()` continues after the cause is fixed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A node failed, after its retries.
    #[error(transparent)]
    Node(#[from] NodeFailure),
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
    #[error(
        "step {step}: two tasks go on with the subgraph state that is kept as {key:?}; give each a key of its own"
    )]
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
    #[error("thread {thread} asks nothing")]
    NothingAsked {
        /// The thread.
        thread: ThreadId,
    },
    /// Several questions are open. Answer by id with `answer_to` or `answers`.
    #[error("thread {thread} asks {} questions; say which one is answered ({})", .open.len(), list(open))]
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
    #[error("node {node:?} did not use what the test says of {}{}", .effects.join(", "), failed(.failure.as_deref()))]
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

/// The error of reading, forking or editing a thread.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadError {
    /// A reducer panicked while an edit was merged; nothing was stored.
    #[error("a reducer panicked while the edit was merged: {0}")]
    Reducer(String),
    /// The graph has no checkpointer. Give it one with `.checkpointer(..)`.
    #[error("the graph has no checkpointer")]
    NoCheckpointer,
    /// The thread has no checkpoint. Run it first.
    #[error("thread {0} has never run")]
    NeverRan(ThreadId),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The name is not valid for a checkpoint. Choose another one.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The checkpoint does not fit the graph.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// A stored value does not fit the state.
    #[error("field {field:?} of checkpoint {checkpoint} does not decode{}", reason.told())]
    Decode {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The field, or the task to which the result belongs.
        field: String,
        /// The reason. [`mismatch`](CodecError::mismatch) returns the place in the field, with the expected and the
        /// actual value.
        reason: CodecError,
    },
    /// The state of a checkpoint has another version than the program's, and cannot be loaded.
    #[error("checkpoint {checkpoint} does not load: {reason}")]
    Version {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The reason.
        reason: LoadError,
    },
    /// Unfinished work belongs to another version of the state, and cannot be mapped field by field. Finish it with
    /// the program that began it, or drop it with a new input or `discard_pending`.
    #[error(
        "{what} at checkpoint {checkpoint} is of version {stored} of the state, and the program has version {own}: \
         finish it with the program that began it, or drop it with a new input or `discard_pending`"
    )]
    OtherVersion {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The unfinished work.
        what: String,
        /// The version of the unfinished work.
        stored: u32,
        /// The program's version.
        own: u32,
    },
    /// A value could not be encoded.
    #[error("{what} cannot be stored: {reason}")]
    Encode {
        /// The value.
        what: String,
        /// The reason.
        reason: CodecError,
    },
    /// No pending task of the thread has this id, because its superstep was committed or it belongs to another
    /// thread. Read [`tasks`](crate::run::Thread::tasks) again.
    #[error("thread {thread} has no pending task {task}")]
    NoSuchTask {
        /// The thread.
        thread: ThreadId,
        /// The task.
        task: TaskId,
    },
    /// The result of the task is already recorded, and counts. Run the other tasks, or `resume` the thread.
    #[error("the result of task {task} of thread {thread} is recorded already")]
    TaskRecorded {
        /// The thread.
        thread: ThreadId,
        /// The task.
        task: TaskId,
    },
    /// A value that was given as JSON does not fit the state.
    #[error("{what} does not fit: {reason}")]
    Misfit {
        /// The value: the input or the edit.
        what: String,
        /// The reason.
        reason: JsonError,
    },
    /// The thread does not belong to a subgraph of the checkpoint.
    #[error("thread {thread:?} is not below checkpoint {checkpoint}")]
    NotBelow {
        /// The thread.
        thread: ThreadId,
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// The thread belongs to a subgraph, and is deleted with the thread above it.
    #[error("thread {0:?} belongs to a subgraph; delete the thread above it")]
    Subgraph(ThreadId),
    /// Another run or edit was faster.
    #[error("another run moved thread {0} on")]
    Superseded(ThreadId),
    /// Several nodes, or none, ran last, so it is unclear which node wrote the edit. Name it with `edit_as`.
    #[error("which node has written the edit is not clear{}; say it with `edit_as`", of_nodes(.candidates))]
    WhichNode {
        /// The nodes that may have written it.
        candidates: Vec<NodeName>,
    },
    /// The edit would drop next tasks that other nodes led to. Also edit as those nodes, or drop the tasks first
    /// with `discard_pending`.
    #[error(
        "an edit as {} would drop what others have led to: {}; edit as those that led there as well, or drop it \
         first with `discard_pending`", names(.nodes), names(.next)
    )]
    WouldDrop {
        /// The nodes as which the thread was edited.
        nodes: Vec<NodeName>,
        /// The next nodes that other nodes led to.
        next: Vec<NodeName>,
    },
    /// The edit contains nodes that are next and one that is not, and would leave other next nodes unfinished.
    /// Split it into two edits.
    #[error("node {node:?} is not next, and others are; it cannot be edited in one superstep with those")]
    NotNext {
        /// The node that is not next.
        node: NodeName,
    },
    /// The decision in the edit does not match the decision type of the node, or is missing.
    #[error("an edit as node {node:?} has no decision of the type that the node decides by")]
    WrongDecision {
        /// The node.
        node: NodeName,
    },
    /// The results of finished tasks cannot be merged. `head` returns the state as of the last barrier.
    #[error("the results of the finished tasks cannot be merged: {0}")]
    Unmergeable(String),
    /// The handle belongs to another graph, or the name is unknown.
    #[error("graph {graph:?} has no node {node:?}{meant}")]
    NoSuchNode {
        /// The graph.
        graph: NodeName,
        /// The node.
        node: String,
        /// A suggestion of the nearest name, as a question; empty if no name is near.
        meant: String,
    },
}

impl ThreadError {
    pub(crate) fn no_such_task(thread: &ThreadId, task: TaskId) -> Self {
        Self::NoSuchTask { thread: thread.clone(), task }
    }

    /// An input or an edit does not fit the graph.
    pub(crate) fn misfit(what: &str, misfit: Misfit) -> Self {
        let what = what.into();
        match misfit {
            Misfit::Json(reason) => Self::Misfit { what, reason },
            Misfit::Codec(reason) => Self::Encode { what, reason },
        }
    }

    /// Returns the error for a checkpoint whose values cannot be loaded as a state.
    pub(crate) fn unloadable(checkpoint: CheckpointId, reason: LoadError) -> Self {
        match reason {
            LoadError::Field { field, reason, .. } => Self::Decode { checkpoint, field, reason },
            reason => Self::Version { checkpoint, reason },
        }
    }

    /// Returns the error for unfinished work of another version of the state.
    pub(crate) fn other_version(
        what: &str,
        program: &Program,
        checkpoint: CheckpointId,
        stored: u32,
    ) -> Self {
        let own = program.schema.version;
        Self::OtherVersion { checkpoint, what: what.into(), stored, own }
    }

    /// Returns the error for a name that no node of a graph has.
    pub(crate) fn no_such_node(topology: &Topology, node: &NodeName) -> Self {
        let names = topology.nodes().map(|(_, name)| name.as_str());
        Self::NoSuchNode {
            graph: topology.name().clone(),
            node: node.to_string(),
            meant: suggestion(node.as_str(), names),
        }
    }

    /// Returns the error for a handle that another graph's builder returned.
    pub(crate) fn foreign_handle(topology: &Topology) -> Self {
        let (graph, node) = (topology.name().clone(), "of another graph".into());
        Self::NoSuchNode { graph, node, meant: String::new() }
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

fn names(nodes: &[NodeName]) -> String {
    nodes.iter().map(|node| alloc::format!("{node:?}")).collect::<Vec<_>>().join(", ")
}

fn list(ids: &[InterruptId]) -> String {
    ids.iter().map(|id| alloc::format!("{id}")).collect::<Vec<_>>().join(", ")
}

fn of_nodes(nodes: &[NodeName]) -> String {
    if nodes.is_empty() { String::new() } else { alloc::format!(": one of {}", names(nodes)) }
}
