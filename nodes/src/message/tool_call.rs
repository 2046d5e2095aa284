//! A model's wish to have a tool run, and how it went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call of a tool, asked for by a model in an AI message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Pairs the call with the tool message that answers it.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The input, as the tool's schema describes it; not yet checked against it.
    pub input: Value,
}

impl ToolCall {
    /// Makes a call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Self { id: id.into(), name: name.into(), input }
    }
}

/// How a tool call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The tool ran; the content is its output.
    Ok,
    /// The tool did not run or failed; the content says why, for the model to read.
    Error,
}
