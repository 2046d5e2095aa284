//! The errors of access to threads.

use std::vec::Vec;

use alloc::string::{String, ToString};

use super::error::names;
use crate::checkpoint::{InvalidName, StoreError};
use crate::engine::restore::RestoreError;
use crate::graph::{Program, Topology};
use crate::id::{CheckpointId, NodeName, TaskId, ThreadId};
use crate::state::{CodecError, JsonError, LoadError, Misfit, suggestion};

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
    /// The graph was [read from its store](crate::run::AnyGraph::stored). Run or edit its threads with the program that has
    /// its code.
    #[error("graph {0:?} was read from its store and has no code: run and edit its threads with its program")]
    NoCode(NodeName),
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
    #[error("the node that wrote the edit is ambiguous{}; name it with `edit_as`", of_nodes(.candidates))]
    WhichNode {
        /// The nodes that may have written it.
        candidates: Vec<NodeName>,
    },
    /// The edit would drop next tasks that other nodes led to. Also edit as those nodes, or drop the tasks first
    /// with `discard_pending`.
    #[error(
        "an edit as {} would drop next tasks that other nodes led to: {}; edit as those nodes too, or drop the tasks \
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
    #[error("node {node:?} is not next, so it cannot be edited in one superstep with the nodes that are")]
    NotNext {
        /// The node that is not next.
        node: NodeName,
    },
    /// The decision in the edit does not match the decision type of the node, or is missing.
    #[error("the edit as node {node:?} needs a decision of the node's route type")]
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

fn of_nodes(nodes: &[NodeName]) -> String {
    if nodes.is_empty() { String::new() } else { alloc::format!(": one of {}", names(nodes)) }
}
