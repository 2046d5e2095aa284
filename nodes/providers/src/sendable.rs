//! Names, pictures and texts of a request, as all providers take them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use superstep_nodes::__private::media_type;
use superstep_nodes::message::{Content, Conversation, Image, ImageSource, Message};
use superstep_nodes::model::ModelRequest;
use superstep_nodes::tool::ToolSpec;

/// The longest name of a tool that all providers take.
const MOST_CHARS: usize = 64;

/// The name as providers take it: models are known to make up others, and a conversation keeps what they said.
pub(super) fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    if !name.is_empty() && name.len() <= MOST_CHARS && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let plain: String =
        name.chars().take(MOST_CHARS).map(|sign| if fits(sign) { sign } else { '_' }).collect();
    if plain.is_empty() { Cow::Borrowed("unnamed") } else { Cow::Owned(plain) }
}

/// The tools that the conversation mentions, where the request offers none: some providers refuse a conversation with
/// tools that are not in the request.
pub(super) fn mentioned_tools(request: &ModelRequest) -> impl Iterator<Item = &str> {
    let offers_none = request.tools.is_empty();
    let calls = request.messages.iter().flat_map(|message| message.tool_calls());
    let names: BTreeSet<&str> = calls.filter(|_| offers_none).map(|call| call.name.as_str()).collect();
    let mut told = BTreeSet::new();
    names.into_iter().filter(move |name| told.insert(tool_name(name).into_owned()))
}

/// A picture with the type that its bytes have, whatever it is said to be: providers look, and refuse the whole
/// request. Of one that no provider takes, what is said in its place.
pub(super) fn sendable(image: &Image) -> Result<Cow<'_, Image>, String> {
    let ImageSource::Base64 { media_type: said, data } = &image.source else {
        return Ok(Cow::Borrowed(image));
    };
    let found = STANDARD.decode(data).ok().and_then(|bytes| media_type(&bytes));
    match found {
        Some(found) if found == said => Ok(Cow::Borrowed(image)),
        Some(found) => Ok(Cow::Owned(Image::base64(found, data).with_detail(image.detail))),
        None => Err(format!("[a picture of the type {said}, which cannot be shown]")),
    }
}

/// The user message that is sent if the conversation has nothing for the model to answer: providers require one.
pub(super) const OPENING: &str = "Begin.";

/// The user message that is sent if the conversation ends with a message of the model.
pub(super) const GO_ON: &str = "Go on.";

/// The instructions with which a request begins, and the conversation after them.
pub(super) fn instructions(request: &ModelRequest) -> (Vec<String>, &[Message]) {
    let conversation: &Conversation = &request.messages;
    let leading = conversation.iter().take_while(|message| matches!(message, Message::System(_))).count();
    let given = request.system.iter().cloned();
    let said = conversation[..leading].iter().map(|message| message.text().into_owned());
    let all = given.chain(said).filter(|text| !text.trim().is_empty());
    (all.collect(), &conversation[leading..])
}

/// Instructions in the middle of a conversation, where there is no role for them.
pub(super) fn note(content: &Content) -> String {
    format!("<system>\n{}\n</system>", content.to_text())
}

/// A tool that a conversation mentions and that is not offered any more: some providers want to know it.
pub(super) fn no_longer_there(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: "Not available.".to_owned(), input_schema: json!({}) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_providers_refuse_is_made_plain() {
        assert_eq!(tool_name("search_docs-2"), "search_docs-2");
        assert_eq!(tool_name("search docs!"), "search_docs_");
        assert_eq!(tool_name(""), "unnamed");
        assert_eq!(tool_name(&"ä".repeat(100)), "_".repeat(64));
    }

    #[test]
    fn a_picture_is_sent_as_what_its_bytes_are_or_not_at_all() {
        let gif = STANDARD.encode(b"GIF89a....");
        let right = Image::base64("image/gif", &gif);
        assert_eq!(sendable(&right).unwrap().as_ref(), &right);
        assert_eq!(sendable(&Image::base64("image/png", &gif)).unwrap().as_ref(), &right);
        let said = "[a picture of the type image/png, which cannot be shown]";
        for none in [STANDARD.encode(b"no picture"), String::new(), "not base64!".to_owned()] {
            assert_eq!(sendable(&Image::base64("image/png", none)).unwrap_err(), said);
        }
        let elsewhere = Image::url("https://example.org/a");
        assert_eq!(sendable(&elsewhere).unwrap().as_ref(), &elsewhere);
    }
}
