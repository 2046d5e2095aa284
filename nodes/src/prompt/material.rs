//! Material for a model, as JSON in a message.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ReplyError;
use crate::message::{Content, Message, MessageId, Part};
use crate::model::{ModelReply, ModelRequest};

const OPENING: &str = "```json\n";
const CLOSING: &str = "\n```";

/// Makes the message that shows a model its material: an introduction, and the material as JSON in a part
/// of its own. A fence inside the material does no harm, as JSON strings have no line breaks.
pub(super) fn message(id: MessageId, introduction: &str, material: &impl Serialize) -> Message {
    let json =
        serde_json::to_value(material).expect("a prompt is strings and numbers, which always serialise");
    let content =
        [Part::text(format!("{introduction}\n\n")), Part::text(format!("{OPENING}{json:#}{CLOSING}"))];
    Message::human(id, Content::from_iter(content))
}

/// Reads the material back from a request.
pub fn material<T: DeserializeOwned>(request: &ModelRequest) -> Option<T> {
    let last = request.messages.iter().rev().find(|message| matches!(message, Message::Human(_)))?;
    let json = last.content().parts().last()?.as_text()?.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
    serde_json::from_str(json).ok()
}

/// Reads a reply that is to be JSON; a code fence around it is forgiven.
pub(super) fn parse<T: DeserializeOwned>(reply: &ModelReply) -> Result<T, ReplyError> {
    crate::model::parse(reply).map_err(|reason| ReplyError::Form { reason })
}

/// Returns a text without the code fence around it, if there is one.
pub(crate) fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner))
}
