//! A model's wish to have a tool run, and how it went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request of a model to call a tool, in an AI message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The id of the call, which the tool message that answers it has too.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The input in the form of the tool's schema, but not yet checked. In JSON it may also be called `args`.
    #[serde(alias = "args")]
    pub input: Value,
}

impl ToolCall {
    /// Makes a call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Self { id: id.into(), name: name.into(), input }
    }
}

/// The status of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The tool ran; the content is its output.
    Ok,
    /// The tool did not run or failed; the content is the reason, for the model.
    Error,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn s3_047_a_call_has_a_name_arguments_and_an_id() {
        let args = json!({ "query": "rule of thirds in landscape" });
        let call = json!({ "id": "call_123", "name": "composition_rag_tool", "args": args });
        let call: ToolCall = serde_json::from_value(call).unwrap();
        assert_eq!(call, ToolCall::new("call_123", "composition_rag_tool", args));
    }
}
