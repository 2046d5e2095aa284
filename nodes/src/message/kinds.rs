//! The four kinds of message, one struct each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Content, MessageId, ToolCall, ToolStatus};

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
