//! The forms of input items.

use serde_json::Value;

use crate::HttpError;
use crate::image;
use crate::request_value::RequestValue;

/// The maximum length of the id of a call.
const LONGEST_ID: usize = 64;

/// Checks the form of the items. What is not kept must be there in full.
pub(super) fn check(items: &[RequestValue<'_>], is_stateless: bool) -> Result<(), HttpError> {
    let mut ids: Vec<&str> = Vec::new();
    for item in items {
        item.members()?;
        match kind(item) {
            Some("message") => message(item)?,
            Some("function_call") => {
                item.only(&["arguments", "call_id", "id", "name", "namespace", "status", "type"])?;
                id(item, "fc")?;
                item.need("call_id")?.text_up_to(LONGEST_ID)?;
                item.need("name")?.name()?;
                item.need("arguments")?.text()?;
                status(item)?;
            }
            Some("function_call_output") => {
                item.only(&["call_id", "id", "output", "status", "type"])?;
                item.need("call_id")?.text_up_to(LONGEST_ID)?;
                parts(&item.need("output")?, &["input_text", "input_image", "input_file"])?;
                status(item)?;
            }
            Some("reasoning") => reasoning(item, is_stateless)?,
            Some("item_reference") => item.only(&["id", "type"])?,
            // What servers' tools leave is sent back as it came.
            Some(_) => {}
            None => {
                item.need("role")?;
            }
        }
        if let Some(id) = item.value().get("id").and_then(Value::as_str) {
            if ids.contains(&id) {
                return Err(HttpError::invalid(format!(
                    "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
                ))
                .at("input"));
            }
            ids.push(id);
        }
    }
    Ok(())
}

/// The type of an item. A message need not say that it is one.
pub(super) fn kind<'a>(item: &RequestValue<'a>) -> Option<&'a str> {
    let kind = item.value().get("type").map(|kind| kind.as_str().unwrap_or_default());
    kind.or(item.value().get("role").map(|_| "message"))
}

fn message(item: &RequestValue<'_>) -> Result<(), HttpError> {
    item.only(&["content", "id", "phase", "role", "status", "type"])?;
    let role = item.need("role")?.one_of(&["assistant", "system", "developer", "user"])?;
    id(item, "msg")?;
    status(item)?;
    let known: &[&str] = match role {
        "assistant" => &["output_text", "refusal"],
        _ => &["input_text", "input_image", "input_file"],
    };
    parts(&item.need("content")?, known)
}

fn reasoning(item: &RequestValue<'_>, is_stateless: bool) -> Result<(), HttpError> {
    item.only(&["content", "encrypted_content", "id", "status", "summary", "type"])?;
    id(item, "rs")?;
    for part in item.need("summary")?.items()? {
        part.tag(&["summary_text"])?;
        part.only(&["text", "type"])?;
        part.need("text")?.text()?;
    }
    let sealed = item.get_nullable("encrypted_content").map(|sealed| sealed.text()).transpose()?;
    if is_stateless && sealed.is_none() {
        let id = item.value().get("id").and_then(Value::as_str).unwrap_or_default();
        return Err(HttpError::new(
            404,
            "invalid_request_error",
            format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with \
                 `store` set to true, or remove this item from your input."
            ),
        )
        .at("input"));
    }
    Ok(())
}

/// An id, which says what it is of.
fn id(item: &RequestValue<'_>, prefix: &str) -> Result<(), HttpError> {
    let Some(id) = item.get_nullable("id") else {
        return Ok(());
    };
    let text = id.text_up_to(LONGEST_ID)?;
    if text.starts_with(prefix) {
        return Ok(());
    }
    let message = format!("Invalid '{}': '{text}'. Expected an ID that begins with '{prefix}'.", id.path());
    Err(id.refuse(message).coded("invalid_value"))
}

fn status(item: &RequestValue<'_>) -> Result<(), HttpError> {
    let known = ["in_progress", "completed", "incomplete"];
    item.get_nullable("status").map(|status| status.one_of(&known)).transpose()?;
    Ok(())
}

/// A text, or parts of these types.
fn parts(content: &RequestValue<'_>, known: &[&str]) -> Result<(), HttpError> {
    if content.value().is_string() {
        return Ok(());
    }
    if !content.value().is_array() {
        return Err(content.wrong_type("one of a string or array of objects"));
    }
    for part in content.items()? {
        match part.tag(known)? {
            "input_image" => {
                part.only(&["detail", "file_id", "image_url", "type"])?;
                let details = ["auto", "low", "high", "original"];
                part.get("detail").map(|detail| detail.one_of(&details)).transpose()?;
                picture(&part)?;
            }
            "input_text" => {
                part.only(&["text", "type"])?;
                part.need("text")?.text()?;
            }
            "output_text" => {
                part.only(&["annotations", "logprobs", "text", "type"])?;
                part.need("text")?.text()?;
            }
            "refusal" => {
                part.only(&["refusal", "type"])?;
                part.need("refusal")?.text()?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn picture(part: &RequestValue<'_>) -> Result<(), HttpError> {
    if part.get_nullable("file_id").is_some() {
        return Ok(());
    }
    let url = part.need("image_url")?;
    let Some(text) = url.value().as_str() else {
        return Err(url.wrong_type("an image URL"));
    };
    match image::openai_fault(text, url.path()) {
        None => Ok(()),
        Some((code, message)) => Err(url.refuse(message).coded(code)),
    }
}
