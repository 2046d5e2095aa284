//! A message of any kind.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::Keyed;

use super::{AiMessage, Content, HumanMessage, MessageId, SystemMessage, ToolCall, ToolMessage};

/// One message of a conversation.
///
/// ```
/// use superstep_nodes::message::Message;
///
/// let message = Message::human("m1", "Hello");
/// assert_eq!(serde_json::to_string(&message).unwrap(), r#"{"type":"human","id":"m1","content":"Hello"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// What a person said.
    Human(HumanMessage),
    /// What a model said.
    Ai(AiMessage),
    /// The answer to a tool call.
    Tool(ToolMessage),
    /// Standing instructions to the model.
    System(SystemMessage),
}

impl Message {
    /// Makes a message of a person.
    pub fn human(id: impl Into<MessageId>, content: impl Into<Content>) -> Self {
        Self::Human(HumanMessage { id: id.into(), content: content.into() })
    }

    /// Makes a message of a model that asks for no tools.
    pub fn ai(id: impl Into<MessageId>, content: impl Into<Content>) -> Self {
        Self::ai_with_calls(id, content, Vec::new())
    }

    /// Makes a message of a model that asks for tools.
    pub fn ai_with_calls(
        id: impl Into<MessageId>,
        content: impl Into<Content>,
        tool_calls: Vec<ToolCall>,
    ) -> Self {
        Self::Ai(AiMessage { id: id.into(), content: content.into(), tool_calls })
    }

    /// Makes the answer to a call that went well.
    pub fn tool(id: impl Into<MessageId>, call: &ToolCall, content: impl Into<Content>) -> Self {
        Self::Tool(ToolMessage::done(id, call, content))
    }

    /// Makes the answer to a call that failed or was not run; the content tells the model why.
    pub fn tool_error(id: impl Into<MessageId>, call: &ToolCall, content: impl Into<Content>) -> Self {
        Self::Tool(ToolMessage::failed(id, call, content))
    }

    /// Makes a message of standing instructions.
    pub fn system(id: impl Into<MessageId>, content: impl Into<Content>) -> Self {
        Self::System(SystemMessage { id: id.into(), content: content.into() })
    }

    /// Returns the id.
    pub fn id(&self) -> &MessageId {
        match self {
            Self::Human(message) => &message.id,
            Self::Ai(message) => &message.id,
            Self::Tool(message) => &message.id,
            Self::System(message) => &message.id,
        }
    }

    /// Returns the content.
    pub fn content(&self) -> &Content {
        match self {
            Self::Human(message) => &message.content,
            Self::Ai(message) => &message.content,
            Self::Tool(message) => &message.content,
            Self::System(message) => &message.content,
        }
    }

    /// Returns all text of the content.
    pub fn text(&self) -> Cow<'_, str> {
        self.content().to_text()
    }

    /// Returns the tools asked for: those of an AI message, none for other kinds.
    pub fn tool_calls(&self) -> &[ToolCall] {
        match self {
            Self::Ai(message) => &message.tool_calls,
            Self::Human(_) | Self::Tool(_) | Self::System(_) => &[],
        }
    }
}

impl Keyed for Message {
    fn id(&self) -> &str {
        self.id().as_str()
    }
}

impl From<HumanMessage> for Message {
    fn from(message: HumanMessage) -> Self {
        Self::Human(message)
    }
}

impl From<AiMessage> for Message {
    fn from(message: AiMessage) -> Self {
        Self::Ai(message)
    }
}

impl From<ToolMessage> for Message {
    fn from(message: ToolMessage) -> Self {
        Self::Tool(message)
    }
}

impl From<SystemMessage> for Message {
    fn from(message: SystemMessage) -> Self {
        Self::System(message)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_kind_has_its_type_and_survives_json() {
        let call = ToolCall::new("c1", "add", json!({ "a": 0.1, "b": [1, null] }));
        let cases = [
            ("human", Message::human("1", "hi")),
            ("ai", Message::ai("2", "hello")),
            ("ai", Message::ai_with_calls("3", Content::empty(), vec![call.clone()])),
            ("tool", Message::tool("4", &call, "1.1")),
            ("tool", Message::tool_error("5", &call, "cannot add null")),
            ("system", Message::system("6", "be brief")),
        ];
        for (kind, message) in cases {
            let json = serde_json::to_value(&message).unwrap();
            assert_eq!(json["type"], kind);
            assert_eq!(serde_json::from_value::<Message>(json).unwrap(), message);
        }
    }

    #[test]
    fn the_schema_knows_all_four_kinds() {
        let schema = serde_json::to_value(schemars::schema_for!(Message)).unwrap();
        let kinds: Vec<&Value> = schema["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|kind| &kind["properties"]["type"]["const"])
            .collect();
        assert_eq!(kinds, ["human", "ai", "tool", "system"]);
    }

    #[test]
    fn a_message_without_an_id_is_refused() {
        assert!(serde_json::from_value::<Message>(json!({ "type": "human", "content": "hi" })).is_err());
    }
}
