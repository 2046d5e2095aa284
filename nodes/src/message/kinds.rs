//! The kinds of messages, their ids, and calls of tools.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Content;

/// A message of a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The content.
    pub content: Content,
}

/// A reply of a model, with the tools that it asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AiMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The content; may be empty when there are tool calls.
    pub content: Content,
    /// The tools to run, in the order the model asked for them.
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
    /// The output, as the model reads it.
    pub content: Content,
    /// The output for programs: what the content says, in a form that needs no parsing of prose. It is
    /// kept in the conversation but is no part of what a language model is shown.
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

/// Names one message of a conversation.
///
/// The id is given by the caller and has to be unique in its conversation: state that keeps messages by
/// id replaces the message that has the same one. Ids should be derived from what is stable across a
/// re-execution (a position, a task), never from a clock or a random number.
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

/// A call of a tool, asked for by a model in an AI message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Pairs the call with the tool message that answers it.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The input, as the tool's schema describes it; not yet checked against it. In JSON it may also be called `args`.
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
    /// The tool did not run or failed; the content says why, for the model to read.
    Error,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kinds::*;

    #[test]
    fn s3_047_a_call_has_a_name_arguments_and_an_id() {
        let args = json!({ "query": "rule of thirds in landscape" });
        let call = json!({ "id": "call_123", "name": "composition_rag_tool", "args": args });
        let call: ToolCall = serde_json::from_value(call).unwrap();
        assert_eq!(call, ToolCall::new("call_123", "composition_rag_tool", args));
    }
}
