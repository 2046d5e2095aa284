//! A custom event for each tool call that was answered.

use serde::{Deserialize, Serialize};

use crate::tool::ToolOutcome;

/// A tool call that was answered, as a custom event of the name [`ToolRun::EVENT`]: every node that runs tools emits
/// one for each call, while the run is observed. It holds neither the input nor the output of the tool;
/// [`ToolEvent`](crate::tool::ToolEvent)s do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRun {
    /// The id of the call.
    pub call: String,
    /// The name of the tool; nothing if there is no tool of the name that the model said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The way in which it ended.
    pub outcome: ToolOutcome,
    /// The duration of the call, in milliseconds; that of the original call if the answer was recorded.
    pub elapsed_ms: u64,
    /// `true` if the answer was taken from the record, so that no tool was called now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
}

impl ToolRun {
    /// The name of the events of tool calls that were answered.
    pub const EVENT: &'static str = "tool_run";
}
