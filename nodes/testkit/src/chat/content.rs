//! The content of messages: a text, or parts.

use crate::HttpError;
use crate::image;
use crate::request_value::RequestValue;

/// Checks the content of a message of a role.
pub(super) fn check(
    content: &RequestValue<'_>,
    role: &str,
    message: &RequestValue<'_>,
) -> Result<(), HttpError> {
    if content.value().is_string() {
        return Ok(());
    }
    if !content.value().is_array() {
        return Err(content.wrong_type("one of a string or array of objects"));
    }
    for part in content.items_of_some()? {
        let known: &[&str] = match role {
            "user" => &["text", "image_url", "input_audio", "file"],
            "assistant" => &["text", "refusal"],
            _ => &["text"],
        };
        if role != "user" && part.value().get("type").is_some_and(|kind| kind == "image_url") {
            let path = message.path();
            return Err(HttpError::invalid(format!(
                "Invalid '{path}'. Image URLs are only allowed for messages with role 'user', but this message with \
                 role '{role}' contains an image URL."
            ))
            .at(path)
            .coded("invalid_value"));
        }
        let kind = part.tag(known)?;
        part.only(&["type", kind])?;
        let inner = part.need(kind)?;
        match kind {
            "text" | "refusal" => {
                inner.text()?;
            }
            "image_url" => picture(&inner)?,
            _ => {
                inner.members()?;
            }
        }
    }
    Ok(())
}

fn picture(picture: &RequestValue<'_>) -> Result<(), HttpError> {
    picture.only(&["detail", "url"])?;
    picture.get("detail").map(|detail| detail.one_of(&["auto", "low", "high"])).transpose()?;
    let url = picture.need("url")?;
    match image::openai_fault(url.text()?, url.path()) {
        None => Ok(()),
        Some((code, message)) => Err(url.refuse(message).coded(code)),
    }
}
