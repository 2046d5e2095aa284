//! The events of calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolOutcome;

/// An event of a call.
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
    /// The kind of the event.
    #[serde(flatten)]
    pub kind: ToolEventKind,
}

/// The kind of a call's event: the call has started, makes progress, has ended, or was refused. For a call that was
/// recorded before, the events are emitted again, except its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolEventKind {
    /// It begins, with this input as observers are shown it.
    Started {
        /// The tool's [`observable_input`](super::Tool::observable_input).
        input: Value,
    },
    /// The tool reports its progress.
    Progress {
        /// The progress, as the tool reports it.
        data: Value,
    },
    /// It has ended.
    Ended {
        /// The outcome of the call.
        outcome: ToolOutcome,
        /// The text of the result that the model reads.
        text: String,
    },
    /// It was not made: it makes no sense, is not permitted, or comes too late.
    Refused {
        /// The input, as for [`Started`](Self::Started).
        input: Value,
        /// The way in which it ended.
        outcome: ToolOutcome,
        /// The text of the result that the model reads.
        text: String,
    },
}
