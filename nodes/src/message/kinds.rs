//! The kinds of messages, their ids, and calls of tools.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Content;

/// A message of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The content.
    pub content: Content,
}

/// A reply of a model, with its tool calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AiMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The content; may be empty when there are tool calls.
    pub content: Content,
    /// The tool calls, in the order of the reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
}

/// The answer to one tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The id of the call that this answers.
    pub tool_call_id: String,
    /// The name of the tool.
    pub name: String,
    /// The status of the call.
    pub status: ToolStatus,
    /// The output for the model.
    pub content: Content,
    /// The output for programs: the same content as structured data. It is kept in the conversation, but not sent to
    /// models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ToolMessage {
    /// Makes the answer to a call that failed or was not run; the content tells the model why.
    pub fn failed(id: impl Into<MessageId>, call: &ToolCall, content: impl Into<Content>) -> Self {
        Self::of(id, call, ToolStatus::Error, content)
    }

    /// Makes the answer to a call that went well.
    pub fn done(id: impl Into<MessageId>, call: &ToolCall, content: impl Into<Content>) -> Self {
        Self::of(id, call, ToolStatus::Ok, content)
    }

    fn of(
        id: impl Into<MessageId>,
        call: &ToolCall,
        status: ToolStatus,
        content: impl Into<Content>,
    ) -> Self {
        Self {
            id: id.into(),
            tool_call_id: call.id.clone(),
            name: call.name.clone(),
            status,
            content: content.into(),
            data: None,
        }
    }
}

/// Standing instructions to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The instructions.
    pub content: Content,
}

/// The id of a message of a conversation.
///
/// The caller chooses the id, which must be unique in its conversation: a message with the same id replaces the earlier
/// one. Derive ids from values that are the same when a node runs again (a position, a task), never from a clock or a
/// random number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MessageId(String);

impl MessageId {
    /// Makes an id of the given text.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for MessageId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<String> for MessageId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

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
