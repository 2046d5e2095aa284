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
///     kind: ToolEventKind::Ended { outcome: ToolOutcome::Ok, text: "5".into() },
/// };
/// let json = r#"{"call":"c1","tool":"add","type":"ended","outcome":"ok","text":"5"}"#;
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

/// What is told of a call: that it has started, how far it is, and that it has ended, or else that it was refused. A call
/// that was recorded before is told of again, but for how far it was.
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
        /// What the model reads of it.
        text: String,
    },
    /// It was not made: it makes no sense, is not permitted, or comes too late.
    Refused {
        /// The input, as for [`Started`](Self::Started).
        input: Value,
        /// The way in which it ended.
        outcome: ToolOutcome,
        /// What the model reads of it.
        text: String,
    },
}
