//! A conversation as the items of the Responses protocol.

use serde_json::{Value, json};
use superstep_nodes::message::{AiMessage, Content, Image, Message, Part, ToolMessage};

use super::PROVIDER;
use crate::openai::{NO_OUTPUT, arguments, detail, result_text, text_of};
use crate::sendable::{GO_ON, OPENING, sendable, tool_name};

/// The items of a conversation, which begin with a word of the user and do not end with one of the model.
pub(super) fn items(conversation: &[Message], model: &str) -> Vec<Value> {
    let mut items = Vec::new();
    for message in conversation {
        match message {
            Message::Human(message) => items.extend(user(&message.content)),
            Message::System(message) => {
                items.extend(text_of(&message.content).map(|text| said("developer", text)))
            }
            Message::Tool(result) => items.push(output(result)),
            Message::Ai(said) => items.extend(said_items(said, model)),
        }
    }
    if items.first().is_none_or(|first| first["role"] != "user") {
        items.insert(0, said("user", OPENING));
    }
    if !items.last().is_some_and(can_be_answered) {
        items.push(said("user", GO_ON));
    }
    items
}

fn said(role: &str, content: impl Into<Value>) -> Value {
    json!({ "type": "message", "role": role, "content": content.into() })
}

/// Returns `true` if an item is one of the user, so that the model may answer next.
fn can_be_answered(item: &Value) -> bool {
    matches!(item["role"].as_str(), Some("user" | "developer")) || item["type"] == "function_call_output"
}

/// Converts a message of the user; `None` if nothing in it can be sent in this protocol.
fn user(content: &Content) -> Option<Value> {
    if !has_image(content) {
        return text_of(content).map(|text| said("user", text));
    }
    let parts: Vec<Value> = content.parts().iter().filter_map(part).collect();
    Some(said("user", parts))
}

/// Converts a message of the model. Its reasoning and its provider-specific parts are sent back unchanged, and only to
/// the model that produced them. Reasoning is sent only before the output that followed it.
fn said_items(message: &AiMessage, model: &str) -> Vec<Value> {
    let mut calls: Vec<Option<Value>> = message
        .tool_calls
        .iter()
        .map(|call| {
            Some(json!({
                "type": "function_call",
                "call_id": call.id,
                "name": tool_name(&call.name),
                "arguments": arguments(&call.input),
            }))
        })
        .collect();
    let mut items = Vec::new();
    for part in message.content.parts() {
        match part {
            Part::Text { text } if text.trim().is_empty() => {}
            Part::Text { text } => items.push(said("assistant", text.as_str())),
            Part::ToolCall { index } => items.extend(calls.get_mut(*index).and_then(Option::take)),
            Part::Thinking(thought) if thought.origin.is(PROVIDER, model) && is_sealed(&thought.raw) => {
                items.push(thought.raw.clone());
            }
            Part::Native(native) if native.origin.is(PROVIDER, model) => items.push(native.raw.clone()),
            // Thoughts and parts of other providers, and images, which no assistant says.
            _ => {}
        }
    }
    items.extend(calls.into_iter().flatten());
    while items.pop_if(|last| last["type"] == "reasoning").is_some() {}
    items
}

/// Returns `true` if a reasoning item can be sent back: the provider keeps nothing, so the item must contain the whole
/// thought, encrypted.
fn is_sealed(thought: &Value) -> bool {
    thought["encrypted_content"].is_string()
}

fn output(result: &ToolMessage) -> Value {
    let output: Value = if has_image(&result.content) {
        let images =
            result.content.parts().iter().filter(|part| matches!(part, Part::Image(_))).filter_map(part);
        let text = json!({ "type": "input_text", "text": result_text(result, "(an image)") });
        std::iter::once(text).chain(images).collect()
    } else {
        result_text(result, NO_OUTPUT).into()
    };
    json!({ "type": "function_call_output", "call_id": result.tool_call_id, "output": output })
}

fn has_image(content: &Content) -> bool {
    content.parts().iter().any(|part| matches!(part, Part::Image(_)))
}

fn part(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } if !text.trim().is_empty() => Some(json!({ "type": "input_text", "text": text })),
        Part::Image(image) => Some(image_part(image)),
        _ => None,
    }
}

fn image_part(image: &Image) -> Value {
    match sendable(image) {
        Ok(image) => {
            json!({ "type": "input_image", "image_url": image.to_url(), "detail": detail(image.detail) })
        }
        Err(instead) => json!({ "type": "input_text", "text": instead }),
    }
}
