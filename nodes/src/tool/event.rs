//! What is told of calls while they are made.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolOutcome;

/// What is told of a call while it is made.
///
/// ```
/// use superstep_nodes::tool::{ToolEvent, ToolEventKind, ToolOutcome};
///
/// let event = ToolEvent {
///     call: "c1".into(),
///     tool: "add".into(),
///     kind: ToolEventKind::Ended { outcome: ToolOutcome::Ok },
/// };
/// let json = r#"{"call":"c1","tool":"add","type":"ended","outcome":"ok"}"#;
/// assert_eq!(serde_json::to_string(&event).unwrap(), json);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolEvent {
    /// The id of the call.
    pub call: String,
    /// The name of the tool.
    pub tool: String,
    /// What is told.
    #[serde(flatten)]
    pub kind: ToolEventKind,
}

/// What is told of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolEventKind {
    /// It begins, with this input as observers are shown it.
    Started {
        /// The tool's [`observable_input`](super::Tool::observable_input).
        input: Value,
    },
    /// The tool says how far it is.
    Progress {
        /// What it says.
        data: Value,
    },
    /// It has ended.
    Ended {
        /// In this way.
        outcome: ToolOutcome,
    },
}
