//! Why a run or a look at a thread failed.

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
use crate::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use crate::state::{CodecError, LoadError, suggestion};

/// Why a run failed. What was finished before is kept: `thread.resume()` continues after the cause is mended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A node failed, after its retries.
    #[error(transparent)]
    Node(#[from] NodeFailure),
    /// Two tasks of one superstep wrote a field that one may write.
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
    /// A reducer panicked: a sum that overflows its type, say. The results of the superstep's tasks are kept.
    #[error("step {step}: merging the writes of node {node:?} panicked: {message}")]
    Reducer {
        /// The superstep.
        step: i64,
        /// The node whose writes were being merged.
        node: NodeName,
        /// The panic's message.
        message: String,
    },
    /// A superstep took longer than its timeout. What had finished is kept: `thread.resume()` runs the rest.
    #[error("step {step} took longer than {timeout:?}; not finished: {}", names(unfinished))]
    StepTimedOut {
        /// The superstep.
        step: i64,
        /// The superstep's timeout.
        timeout: Duration,
        /// The nodes of the tasks that had not finished, in merge order.
        unfinished: Vec<NodeName>,
    },
    /// Two tasks of one superstep ran the same subgraph with the same kept state. Give them keys of their own.
    #[error(
        "step {step}: two tasks go on with the subgraph state that is kept as {key:?}; give each a key of its own"
    )]
    KeptTwice {
        /// The superstep.
        step: i64,
        /// The key.
        key: String,
    },
    /// Another run on the thread was faster. Its result stands, and nothing of this run's superstep was stored.
    /// `input` says how to continue; a request that was run with [`run_once`](crate::run::Thread::run_once) is just run
    /// once more.
    #[error("another run moved thread {thread} on; nothing of this run's superstep was stored{}", input.advice())]
    Superseded {
        /// The thread.
        thread: ThreadId,
        /// Where the input of this run is now.
        input: InputStatus,
    },
    /// A request was given an empty idempotency key, which every other request without one would share. Give each
    /// request a key of its own, or use [`run`](crate::run::Thread::run).
    #[error("a request on thread {thread} has an empty idempotency key; give each request a key of its own")]
    EmptyKey {
        /// The thread.
        thread: ThreadId,
    },
    /// Another run holds the thread. Wait for it with [`Lease::wait`](crate::run::Lease::wait), or try again later; the
    /// lease of a holder that is gone expires at that time.
    #[error("thread {thread} is run by {holder} until {}", rfc3339(*until_ms))]
    Leased {
        /// The thread.
        thread: ThreadId,
        /// The holder of the lease.
        holder: String,
        /// When the lease is over unless it is renewed, in milliseconds since 1970 by the store's clock.
        until_ms: u64,
    },
    /// The run has lost its lease: it was silent for too long and another run took the thread over, or the lease was
    /// broken. The next run continues from the checkpoints and results stored before; nothing was stored since.
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
    /// The thread was written last under another state or another graph, and the policy of the graph,
    /// [`on_change`](crate::run::Graph::on_change), does not let it go on.
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
    /// The thread is a subgraph's: it runs when the thread above it does.
    #[error("thread {thread:?} belongs to a subgraph; run the thread above it")]
    Subgraph {
        /// The thread.
        thread: ThreadId,
    },
    /// There is nothing to resume on a thread that never ran.
    #[error("thread {thread} has never run")]
    NothingToResume {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread waits for no answer.
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
        /// Why.
        reason: CodecError,
    },
    /// A value could not be encoded.
    #[error("{what} cannot be stored: {reason}")]
    Encode {
        /// Which value.
        what: String,
        /// Why.
        reason: CodecError,
    },
    /// A flow's thread holds a value of another type: the flow was changed since it returned it. Run it anew.
    #[error("what the flow returned on thread {thread} does not decode: {reason}")]
    Returned {
        /// The thread.
        thread: ThreadId,
        /// Why.
        reason: CodecError,
    },
    /// A test runs a node [alone](crate::testing::node) that takes an item, and gives it none.
    #[error(
        "node {node:?} takes an item of type {takes}, and the test gives it none; give it one with `.input(..)`"
    )]
    NoItem {
        /// The node.
        node: NodeName,
        /// The type of the item.
        takes: String,
    },
    /// A test runs a node [alone](crate::testing::node), and says what effects return that the node did not
    /// come to.
    #[error("node {node:?} did not use what the test says of {}{}", .effects.join(", "), failed(.failure.as_deref()))]
    UnusedEffects {
        /// The node.
        node: NodeName,
        /// The effects, each as often as it was not used, with their keys.
        effects: Vec<String>,
        /// Why the node failed, if it did.
        failure: Option<Box<NodeFailure>>,
    },
    /// The thread could not be read or written.
    #[error(transparent)]
    Thread(#[from] ThreadError),
}

/// That a node failed, behind what else is wrong.
fn failed(failure: Option<&NodeFailure>) -> String {
    failure.map(|failure| alloc::format!("; {failure}")).unwrap_or_default()
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        match error {
            // Whoever knows of an input of the run says where that is.
            StoreError::Superseded { thread, .. } => {
                Self::Superseded { thread, input: InputStatus::NotGiven }
            }
            StoreError::LeaseLost { thread, to } => Self::LeaseLost { thread, to },
            error => Self::Thread(error.into()),
        }
    }
}

/// Why a thread could not be read, forked or edited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadError {
    /// A reducer panicked while an edit was merged; nothing was stored.
    #[error("a reducer panicked while the edit was merged: {0}")]
    Reducer(String),
    /// The graph keeps nothing. Give it a saver with `.checkpointer(..)`.
    #[error("the graph has no checkpointer")]
    NoCheckpointer,
    /// The thread has no checkpoint. Run it first.
    #[error("thread {0} has never run")]
    NeverRan(ThreadId),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No checkpoint can be called so. Choose another name.
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
        /// The field, or the task whose result it is.
        field: String,
        /// Why; [`mismatch`](CodecError::mismatch) is where inside the field, what was expected and what was found.
        reason: CodecError,
    },
    /// The state of a checkpoint is of another version than the program's, and does not become one of it.
    #[error("checkpoint {checkpoint} does not load: {reason}")]
    Version {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Why.
        reason: LoadError,
    },
    /// Unfinished work of another version of the state, which cannot be mapped field by field. Finish it with the
    /// program that began it, or drop it: a new input or `discard_pending` does.
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
        /// Which value.
        what: String,
        /// Why.
        reason: CodecError,
    },
    /// The thread is not that of a subgraph of the checkpoint.
    #[error("thread {thread:?} is not below checkpoint {checkpoint}")]
    NotBelow {
        /// The thread.
        thread: ThreadId,
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// The thread is a subgraph's: it goes with the thread above it.
    #[error("thread {0:?} belongs to a subgraph; delete the thread above it")]
    Subgraph(ThreadId),
    /// Another run or edit was faster.
    #[error("another run moved thread {0} on")]
    Superseded(ThreadId),
    /// Several nodes, or none, may have written an edit. Say which one it was with `edit_as`.
    #[error("which node has written the edit is not clear{}; say it with `edit_as`", of_nodes(.candidates))]
    WhichNode {
        /// Those that may have.
        candidates: Vec<NodeName>,
    },
    /// The edit would drop what is next because of other nodes. Edit as those nodes as well, or drop it first with
    /// `discard_pending`.
    #[error(
        "an edit as {} would drop what others have led to: {}; edit as those that led there as well, or drop it \
         first with `discard_pending`", names(.nodes), names(.next)
    )]
    WouldDrop {
        /// The nodes as which it was edited.
        nodes: Vec<NodeName>,
        /// The nodes that are next because of other nodes.
        next: Vec<NodeName>,
    },
    /// The edit is one of nodes that are next and of one that is not, while other nodes are next that it leaves
    /// unfinished. Make two edits of it.
    #[error("node {node:?} is not next, and others are; it cannot be edited in one superstep with those")]
    NotNext {
        /// The node that is not next.
        node: NodeName,
    },
    /// The decision in the edit, or its absence, does not match what the node decides.
    #[error("an edit as node {node:?} has no decision of the type that the node decides by")]
    WrongDecision {
        /// The node.
        node: NodeName,
    },
    /// The results of finished tasks cannot be merged. The state as of the last barrier is that of `head`.
    #[error("the results of the finished tasks cannot be merged: {0}")]
    Unmergeable(String),
    /// The handle is of another graph, or the name is unknown.
    #[error("graph {graph:?} has no node {node:?}{meant}")]
    NoSuchNode {
        /// The graph.
        graph: NodeName,
        /// The node.
        node: String,
        /// The nearest name, as a question; empty when none is near.
        meant: String,
    },
}

impl ThreadError {
    /// The error for a checkpoint whose values do not become a state.
    pub(crate) fn unloadable(checkpoint: CheckpointId, reason: LoadError) -> Self {
        match reason {
            LoadError::Field { field, reason, .. } => Self::Decode { checkpoint, field, reason },
            reason => Self::Version { checkpoint, reason },
        }
    }

    /// The error for work that was left unfinished under another version of the state.
    pub(crate) fn other_version(
        what: &str,
        program: &Program,
        checkpoint: CheckpointId,
        stored: u32,
    ) -> Self {
        let own = program.schema.version;
        Self::OtherVersion { checkpoint, what: what.into(), stored, own }
    }

    /// The error for a name that no node of a graph has.
    pub(crate) fn no_such_node(topology: &Topology, node: &NodeName) -> Self {
        let names = topology.nodes().map(|(_, name)| name.as_str());
        Self::NoSuchNode {
            graph: topology.name().clone(),
            node: node.to_string(),
            meant: suggestion(node.as_str(), names),
        }
    }

    /// The error for a handle that another graph's builder returned.
    pub(crate) fn foreign_handle(topology: &Topology) -> Self {
        let (graph, node) = (topology.name().clone(), "of another graph".into());
        Self::NoSuchNode { graph, node, meant: String::new() }
    }
}

/// A node that failed.
#[derive(Debug)]
pub struct NodeFailure {
    /// The node.
    pub node: NodeName,
    /// The superstep.
    pub step: i64,
    /// The last attempt, from 1.
    pub attempt: u32,
    /// Its error, with a source that can be downcast.
    pub error: NodeError,
    /// The error that the node failed with, if `error` is that of its error handler.
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
