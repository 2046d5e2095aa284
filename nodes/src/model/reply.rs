//! The reply of a model.

use std::borrow::Cow;
use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ModelEvent, Usage};
use crate::message::{AiMessage, Content, MessageId, Part, ToolCall};

/// A reply of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelReply {
    /// The content; may be empty when it asks for tools.
    pub content: Content,
    /// The tools it asks for, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The tokens used by the call.
    #[serde(default)]
    pub usage: Usage,
    /// The stop reason.
    pub stop: StopReason,
    /// The name of the model that answered.
    pub model: String,
    /// The provider's id of the call, for its support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
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

    /// Tells whether the model paused in the middle of the reply: a request that
    /// [continues](super::ModelRequest::continuing) it gets the rest. A reply that asks for tools is continued by their
    /// results.
    pub fn is_paused(&self) -> bool {
        self.stop == StopReason::Pause && self.tool_calls.is_empty()
    }

    /// Makes one reply of this beginning and its rest. Usage, stop reason, model and request id are those of the rest.
    #[must_use]
    pub fn continued_by(self, rest: Self) -> Self {
        let asked = self.tool_calls.len();
        let moved = |part: &Part| match part {
            Part::ToolCall { index } => Part::ToolCall { index: asked + index },
            part => part.clone(),
        };
        let content =
            self.content.parts().iter().cloned().chain(rest.content.parts().iter().map(moved)).collect();
        let tool_calls = self.tool_calls.into_iter().chain(rest.tool_calls).collect();
        Self { content, tool_calls, ..rest }
    }

    /// Makes a reply of a text, or of anything else that content can be, from a model without tokens.
    pub fn new(model: impl Into<String>, content: impl Into<Content>) -> Self {
        Self {
            content: content.into(),
            tool_calls: Vec::new(),
            usage: Usage::default(),
            stop: StopReason::EndTurn,
            model: model.into(),
            request_id: None,
        }
    }

    /// Has the reply ask for tools.
    #[must_use]
    pub fn with_calls(mut self, tool_calls: Vec<ToolCall>) -> Self {
        self.stop = if tool_calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        self.tool_calls = tool_calls;
        self
    }

    /// Says what the call used.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Returns events that fold into this reply, with the text word by word.
    pub fn to_events(&self) -> Vec<ModelEvent> {
        let mut events =
            vec![ModelEvent::Start { model: self.model.clone(), request_id: self.request_id.clone() }];
        let mut calls: VecDeque<(u32, &ToolCall)> = (0..).zip(&self.tool_calls).collect();
        for part in self.content.parts() {
            match part {
                Part::Text { text } => {
                    let words = text.split_inclusive(char::is_whitespace);
                    events.extend(words.map(|word| ModelEvent::TextDelta { text: word.to_owned() }));
                }
                Part::ToolCall { .. } => events.extend(calls.pop_front().into_iter().flat_map(asking)),
                part => events.push(ModelEvent::Part { part: part.clone() }),
            }
        }
        events.extend(calls.into_iter().flat_map(asking));
        events.push(ModelEvent::Usage(self.usage));
        events.push(ModelEvent::Stop { reason: self.stop.clone() });
        events
    }
}

/// The events of one tool call.
fn asking((index, call): (u32, &ToolCall)) -> [ModelEvent; 3] {
    [
        ModelEvent::ToolCallStart { index, id: call.id.clone(), name: call.name.clone() },
        ModelEvent::ToolCallInput { index, json: call.input.to_string() },
        ModelEvent::ToolCallEnd { index },
    ]
}

/// The reason for which a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The reply is complete.
    EndTurn,
    /// The model asks for tools.
    ToolUse,
    /// The reply reached the limit of output tokens and is cut off.
    MaxTokens,
    /// The reply reached a stop sequence.
    StopSequence,
    /// The model or its provider declined to answer.
    Refusal,
    /// The model paused in the middle of its turn: a request that [continues](super::ModelRequest::continuing) the
    /// reply returns the rest. The nodes of an agent make that request.
    Pause,
    /// The context window is full; the reply is cut off.
    WindowFull,
    /// The caller stopped the reply, which is cut off.
    Interrupted,
    /// A reason that this library does not know, in the provider's words.
    Other(String),
}

impl StopReason {
    /// Tells whether a limit cut the reply off, so that its last tool call may lack its end.
    pub const fn is_cut_off(&self) -> bool {
        matches!(self, Self::MaxTokens | Self::WindowFull | Self::Refusal | Self::Interrupted)
    }
}
