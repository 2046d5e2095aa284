//! A message of any kind.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::Keyed;

use super::{
    AiMessage, Content, HumanMessage, ImageSource, MessageId, Part, SystemMessage, ToolCall, ToolMessage,
    ToolStatus,
};

/// One message of a conversation.
///
/// Its `Display` is for people: the role and the text, and for each tool call a line with its input. Images are named
/// in brackets, and thoughts are left out. Texts are written as they are, control characters included.
///
/// ```
/// use superstep_nodes::message::{Message, ToolCall};
///
/// let call = ToolCall::new("c1", "price", serde_json::json!({ "fruit": "pear" }));
/// let asked = Message::ai_with_calls("m2", "I look that up.", vec![call.clone()]);
/// assert_eq!(asked.to_string(), "ai: I look that up.\nai calls price {\"fruit\":\"pear\"}");
/// assert_eq!(Message::tool("m3", &call, "40 cents").to_string(), "tool price: 40 cents");
/// ```
///
/// In JSON it has a `type`:
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
    /// A message of the user.
    Human(HumanMessage),
    /// A reply of a model.
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

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = readable(self.content());
        match self {
            Self::Human(_) => write!(f, "human: {text}"),
            Self::System(_) => write!(f, "system: {text}"),
            Self::Tool(answer) => match answer.status {
                ToolStatus::Ok => write!(f, "tool {}: {text}", answer.name),
                ToolStatus::Error => write!(f, "tool {} failed: {text}", answer.name),
            },
            Self::Ai(said) => {
                let is_said = !text.trim().is_empty() || said.tool_calls.is_empty();
                let said_line = is_said.then(|| format!("ai: {text}"));
                let calls =
                    said.tool_calls.iter().map(|call| format!("ai calls {} {}", call.name, call.input));
                let lines: Vec<_> = said_line.into_iter().chain(calls).collect();
                f.write_str(&lines.join("\n"))
            }
        }
    }
}

/// The content for people: texts, and in brackets the parts that are not text.
fn readable(content: &Content) -> String {
    let part = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::Image(image) => match &image.source {
            ImageSource::Base64 { media_type, .. } => format!("[image: {media_type}]"),
            ImageSource::Url { url } => format!("[image: {url}]"),
        },
        Part::Native(native) => format!("[part of {}]", native.origin.provider),
        Part::Thinking(_) | Part::ToolCall { .. } => String::new(),
    };
    content.parts().iter().map(part).collect()
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
    use crate::message::{Image, Origin, Thinking};

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

    /// There was only `Debug`: to print a conversation, every program wrote a `match` of its own.
    #[test]
    fn a_message_is_shown_as_its_role_and_what_it_says() {
        let call = ToolCall::new("c1", "price", json!({ "fruit": "pear" }));
        let thought = Part::Thinking(Thinking {
            text: "Hm.".into(),
            origin: Origin::new("anthropic", "m"),
            raw: Value::Null,
        });
        let seen = [Part::text("Is this one? "), Part::Image(Image::base64("image/jpeg", "AAAA"))];
        let calls = || vec![call.clone(), call.clone()];
        let line = "ai calls price {\"fruit\":\"pear\"}";
        let cases = [
            (
                Message::human("1", "What does it cost?\nAnd why?"),
                "human: What does it cost?\nAnd why?".to_owned(),
            ),
            (
                Message::human("1", Content::from_iter(seen)),
                "human: Is this one? [image: image/jpeg]".to_owned(),
            ),
            (Message::ai("2", "I do not know."), "ai: I do not know.".to_owned()),
            (Message::ai("2", ""), "ai: ".to_owned()),
            (Message::ai_with_calls("2", "I look.", calls()), format!("ai: I look.\n{line}\n{line}")),
            (Message::ai_with_calls("2", thought, calls()), format!("{line}\n{line}")),
            (Message::tool("3", &call, "40 cents"), "tool price: 40 cents".to_owned()),
            (Message::tool_error("3", &call, "no pears"), "tool price failed: no pears".to_owned()),
            (Message::system("4", "Be brief."), "system: Be brief.".to_owned()),
        ];
        for (message, shown) in cases {
            assert_eq!(message.to_string(), shown);
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
