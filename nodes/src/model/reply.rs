//! What a model answers.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ModelError, ModelEvent};
use crate::message::{AiMessage, Content, MessageId, ToolCall};

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelReply {
    /// What it said; may be empty when it asks for tools.
    pub content: Content,
    /// The tools it asks for, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What the call used.
    #[serde(default)]
    pub usage: Usage,
    /// Why it stopped.
    pub stop: StopReason,
    /// The name of the model that answered.
    pub model: String,
}

impl ModelReply {
    /// Returns all text of the content.
    pub fn text(&self) -> Cow<'_, str> {
        self.content.to_text()
    }

    /// Makes the reply a message of a conversation.
    pub fn into_message(self, id: impl Into<MessageId>) -> AiMessage {
        AiMessage { id: id.into(), content: self.content, tool_calls: self.tool_calls }
    }

    /// Returns events that fold into this reply, with the text word by word.
    pub(super) fn into_events(self) -> Vec<Result<ModelEvent, ModelError>> {
        let text = self.content.to_text();
        let words = text.split_inclusive(char::is_whitespace);
        let mut events = vec![ModelEvent::Start { model: self.model }];
        events.extend(words.map(|word| ModelEvent::TextDelta { text: word.to_owned() }));
        for (index, call) in (0..).zip(self.tool_calls) {
            events.push(ModelEvent::ToolCallStart { index, id: call.id, name: call.name });
            events.push(ModelEvent::ToolCallInput { index, json: call.input.to_string() });
            events.push(ModelEvent::ToolCallEnd { index });
        }
        events.push(ModelEvent::Usage(self.usage));
        events.push(ModelEvent::Stop { reason: self.stop });
        events.into_iter().map(Ok).collect()
    }
}

/// What a model call used, in tokens. A model that has no tokens says in its documentation what it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It said all it had to say.
    EndTurn,
    /// It waits for the results of tools.
    ToolUse,
    /// It reached the limit of its output; what it said is cut off.
    MaxTokens,
    /// It, or its provider, declined to answer.
    Refusal,
}
