//! The forms of messages and of the blocks in them.

use serde_json::Value;

use super::cache;
use crate::HttpError;
use crate::image::{self, MEDIA_TYPES};
use crate::request_value::{RequestValue, is_name};

/// The blocks that a message may have, of whom, and what each may have beside its type.
const BLOCKS: [(&str, Whose, &[&str]); 10] = [
    ("document", Whose::User, &["cache_control", "citations", "context", "source", "title"]),
    ("image", Whose::User, &["cache_control", "source"]),
    ("redacted_thinking", Whose::Assistant, &["data"]),
    ("search_result", Whose::User, &["cache_control", "citations", "content", "source", "title"]),
    ("server_tool_use", Whose::Assistant, &["cache_control", "caller", "id", "input", "name"]),
    ("text", Whose::Both, &["cache_control", "citations", "text"]),
    ("thinking", Whose::Assistant, &["signature", "thinking"]),
    ("tool_result", Whose::User, &["cache_control", "content", "is_error", "tool_use_id"]),
    ("tool_use", Whose::Assistant, &["cache_control", "caller", "id", "input", "name"]),
    ("web_search_tool_result", Whose::Assistant, &["cache_control", "caller", "content", "tool_use_id"]),
];

/// The types of blocks that a tool result may contain.
const IN_RESULTS: [&str; 4] = ["text", "image", "search_result", "document"];

const LARGEST_IMAGE: usize = 5 * 1024 * 1024;

#[derive(Clone, Copy, PartialEq)]
enum Whose {
    User,
    Assistant,
    Both,
}

/// A message whose form is right.
pub(super) struct Message<'a> {
    pub(super) place: RequestValue<'a>,
    pub(super) is_user: bool,
    /// Empty where the content is a text.
    pub(super) blocks: Vec<RequestValue<'a>>,
}

impl<'a> Message<'a> {
    /// The blocks of a type, each with its index.
    pub(super) fn blocks_of(&self, kind: &'static str) -> impl Iterator<Item = (usize, &RequestValue<'a>)> {
        self.blocks.iter().enumerate().filter(move |(_, block)| is(block, kind))
    }
}

/// Returns `true` if a block has a type.
pub(super) fn is(block: &RequestValue<'_>, kind: &str) -> bool {
    block.value().get("type").is_some_and(|found| found == kind)
}

/// Checks the form of the messages.
pub(super) fn messages<'a>(messages: &[RequestValue<'a>]) -> Result<Vec<Message<'a>>, HttpError> {
    if messages.is_empty() {
        return Err(HttpError::invalid("messages: at least one message is required"));
    }
    messages.iter().map(message).collect()
}

fn message<'a>(message: &RequestValue<'a>) -> Result<Message<'a>, HttpError> {
    message.only(&["role", "content"])?;
    let is_user = message.need("role")?.one_of(&["user", "assistant"])? == "user";
    let content = message.need("content")?;
    let blocks = match content.value() {
        Value::String(text) => {
            if text.is_empty() {
                return Err(empty(message));
            }
            check_text(text)?;
            Vec::new()
        }
        Value::Array(blocks) if blocks.is_empty() => return Err(empty(message)),
        Value::Array(_) => content.items()?,
        _ => return Err(content.wrong_type("a list")),
    };
    for place in &blocks {
        let kind = place.tag(&BLOCKS.map(|(kind, ..)| kind))?;
        let (_, whose, _) = BLOCKS.iter().find(|(known, ..)| *known == kind).expect("its tag is known");
        let right = if is_user { Whose::User } else { Whose::Assistant };
        if *whose != Whose::Both && *whose != right {
            let role = if is_user { "assistant" } else { "user" };
            return Err(place.refuse(format!("`{kind}` blocks can only be in `{role}` messages")));
        }
        block(place, kind)?;
    }
    Ok(Message { place: message.clone(), is_user, blocks })
}

fn empty(message: &RequestValue<'_>) -> HttpError {
    message.refuse("all messages must have non-empty content except for the optional final assistant message")
}

/// Checks the system prompt: a text, or blocks of text.
pub(super) fn system(system: &RequestValue<'_>) -> Result<(), HttpError> {
    if system.value().is_string() {
        return Ok(());
    }
    for place in system.items()? {
        place.tag(&["text"])?;
        let place = place.tagged("text");
        place.only(&["type", "text", "cache_control", "citations"])?;
        if place.need("text")?.text()?.is_empty() {
            return Err(HttpError::invalid("system: text content blocks must be non-empty"));
        }
        cache::form(&place)?;
    }
    Ok(())
}

fn check_text(text: &str) -> Result<(), HttpError> {
    if text.is_empty() {
        return Err(HttpError::invalid("messages: text content blocks must be non-empty"));
    }
    if text.trim().is_empty() {
        return Err(HttpError::invalid("messages: text content blocks must contain non-whitespace text"));
    }
    Ok(())
}

fn block(place: &RequestValue<'_>, kind: &str) -> Result<(), HttpError> {
    let place = place.tagged(kind);
    let (_, _, known) = BLOCKS.iter().find(|(known, ..)| *known == kind).expect("its tag is known");
    place.only(&[&["type"], *known].concat())?;
    match kind {
        "text" => check_text(place.need("text")?.text()?)?,
        "image" => source(&place.need("source")?)?,
        "tool_use" => {
            id(&place.need("id")?)?;
            place.need("name")?.name()?;
            place.need("input")?.members()?;
        }
        "tool_result" => result(&place)?,
        "thinking" => {
            place.need("thinking")?.text()?;
            place.need("signature")?.text()?;
        }
        "redacted_thinking" => {
            place.need("data")?.text()?;
        }
        // What servers' tools leave is sent back as it came.
        _ => {}
    }
    cache::form(&place)
}

fn id(id: &RequestValue<'_>) -> Result<(), HttpError> {
    let text = id.text()?;
    if text.is_empty() || !is_name(text) {
        return Err(id.refuse("String should match pattern '^[a-zA-Z0-9_-]+$'"));
    }
    Ok(())
}

fn result(result: &RequestValue<'_>) -> Result<(), HttpError> {
    id(&result.need("tool_use_id")?)?;
    result.get("is_error").map(|error| error.flag()).transpose()?;
    let Some(content) = result.get("content").filter(|content| !content.value().is_string()) else {
        return Ok(());
    };
    for inner in content.items()? {
        let kind = inner.tag(&IN_RESULTS)?;
        if result.is_set("is_error") && kind != "text" {
            return Err(result.refuse("all content must be type \"text\" if \"is_error\" is true"));
        }
        block(&inner, kind)?;
    }
    Ok(())
}

fn source(source: &RequestValue<'_>) -> Result<(), HttpError> {
    let kind = source.tag(&["base64", "url", "file"])?;
    let source = source.tagged(kind);
    match kind {
        "url" => {
            source.only(&["type", "url"])?;
            let url = source.need("url")?;
            if !url.text()?.starts_with("https://") {
                return Err(url.refuse("Only HTTPS URLs are supported."));
            }
            Ok(())
        }
        "file" => {
            source.only(&["type", "file_id"])?;
            source.need("file_id")?.text().map(|_| ())
        }
        _ => {
            source.only(&["type", "media_type", "data"])?;
            let said = source.need("media_type")?.one_of(&MEDIA_TYPES)?;
            picture(&source.need("data")?, said)
        }
    }
}

fn picture(data: &RequestValue<'_>, said: &str) -> Result<(), HttpError> {
    let Some(bytes) = image::decode(data.text()?) else {
        return Err(data.refuse("Input should be valid base64-encoded data"));
    };
    if bytes.len() > LARGEST_IMAGE {
        let size = bytes.len();
        return Err(data.refuse(format!("image exceeds 5 MB maximum: {size} bytes > {LARGEST_IMAGE} bytes")));
    }
    match image::media_type(&bytes) {
        Some(found) if found != said => Err(data.refuse(format!(
            "The image was specified using the {said} media type, but the image appears to be a {found} image"
        ))),
        Some(_) => Ok(()),
        None => Err(data.refuse("Could not process image")),
    }
}
