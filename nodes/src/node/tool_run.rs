//! What is told of a tool call that was answered.

use serde::{Deserialize, Serialize};

use crate::tool::ToolOutcome;

/// A tool call that was answered, as a custom event of the name [`ToolRun::EVENT`]: every node that runs tools emits one for
/// each call, while the run is observed. It holds nothing of what the tool was given and gave; that is told by
/// [`ToolEvent`](crate::tool::ToolEvent)s.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRun {
    /// The id of the call.
    pub call: String,
    /// The name of the tool; nothing if there is no tool of the name that the model said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The way in which it ended.
    pub outcome: ToolOutcome,
    /// How long it took, in milliseconds; of a recorded answer as long as it took then.
    pub elapsed_ms: u64,
    /// Whether the answer was taken from the record, so that no tool was called now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
}

impl ToolRun {
    /// The name of the events that tell of tool calls that were answered.
    pub const EVENT: &'static str = "tool_run";
}
