//! The JSON shapes that several verbs share. They are stable: members are added, and none is renamed or taken away.

use serde::Serialize;
use serde_json::Value;

use crate::checkpoint::Source;
use crate::id::{CheckpointId, NodeName, RunId, ThreadId};

/// A checkpoint, in a line.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub(super) id: CheckpointId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<CheckpointId>,
    /// The thread that it was written on.
    pub(super) thread: ThreadId,
    pub(super) step: i64,
    pub(super) source: Source,
    /// When, in the form of RFC 3339.
    pub(super) at: String,
    pub(super) run: RunId,
    /// The nodes that ran.
    pub(super) ran: Vec<NodeName>,
    /// The nodes that are next.
    pub(super) next: Vec<NodeName>,
    /// The fields that changed.
    pub(super) changed: Vec<String>,
    /// The threads whose latest checkpoint it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) head_of: Vec<ThreadId>,
}

/// A question of a thread.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Question {
    pub(super) id: String,
    pub(super) node: NodeName,
    /// The nodes whose subgraphs lead to the one that asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) path: Vec<NodeName>,
    pub(super) question: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Value>,
    /// When it answers itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deadline: Option<String>,
}

/// An effect.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Effect {
    /// The node whose task had it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<NodeName>,
    pub(super) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) key: String,
    pub(super) starts: u32,
    /// What it came to; neither of both while that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ok: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}
