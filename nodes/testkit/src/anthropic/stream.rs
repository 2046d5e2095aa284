//! Answers of the Messages API as streams of events.

use serde_json::{Value, json};

use super::render::{content, ending, usage};
use crate::said::{Occasion, Part, Said};
use crate::sse::Event;
use crate::{Quirk, Stop};

/// The events of an answer.
pub(crate) fn events(said: &Said, occasion: &Occasion<'_>) -> Vec<Event> {
    let mut events = vec![start(said, occasion)];
    if said.has(Quirk::UnknownEvents) {
        events.push(json!({"type": "novelty", "level": 1}));
    }
    for (index, (part, whole)) in said.parts.iter().zip(content(said, occasion)).enumerate() {
        let deltas = deltas(part, &whole, said);
        let opened = if deltas.is_empty() { whole } else { opened(whole) };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": opened}));
        if index == 0 {
            events.push(json!({"type": "ping"}));
        }
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    match said.stop() {
        Stop::Failed { code, message } => {
            events.push(json!({"type": "error", "error": {"type": code, "message": message}}));
        }
        stop => {
            let mut told = usage(&said.usage);
            told.as_object_mut().expect("it was written as one").remove("cache_creation");
            events.push(json!({"type": "message_delta", "delta": ending(&stop), "usage": told}));
            events.push(json!({"type": "message_stop"}));
        }
    }
    events.into_iter().map(Event::typed).collect()
}

/// The message as far as it is known before it is written.
fn start(said: &Said, occasion: &Occasion<'_>) -> Value {
    let mut usage = usage(&said.usage);
    usage["output_tokens"] = json!(said.usage.output.min(1));
    json!({
        "type": "message_start",
        "message": {
            "id": occasion.id("msg_mock"),
            "type": "message",
            "role": "assistant",
            "model": occasion.model(said),
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": usage,
        },
    })
}

/// A block as it begins, without what its deltas bring.
fn opened(mut block: Value) -> Value {
    for key in ["text", "thinking", "signature"] {
        if let Some(text) = block.get_mut(key) {
            *text = json!("");
        }
    }
    if let Some(input) = block.get_mut("input") {
        *input = json!({});
    }
    block
}

/// Returns the deltas of a block after its beginning. A block without deltas is sent whole.
fn deltas(part: &Part, whole: &Value, said: &Said) -> Vec<Value> {
    let of = |kind: &str, member: &str, text: &str| -> Vec<Value> {
        said.pieces(text).into_iter().map(|piece| json!({"type": kind, member: piece})).collect()
    };
    let mut deltas = match part {
        Part::Text(text) | Part::Refusal(text) => of("text_delta", "text", text),
        Part::Thinking { .. } => {
            let text = whole["thinking"].as_str().unwrap_or_default();
            let mut deltas = of("thinking_delta", "thinking", text);
            deltas.push(json!({"type": "signature_delta", "signature": whole["signature"]}));
            deltas
        }
        Part::Redacted(_) => return Vec::new(),
        // An input without members needs no delta.
        Part::Call { input, .. } if input == "{}" => return Vec::new(),
        Part::Call { input, .. } => {
            let mut deltas = vec![json!({"type": "input_json_delta", "partial_json": ""})];
            deltas.extend(of("input_json_delta", "partial_json", input));
            deltas
        }
    };
    if said.has(Quirk::UnknownEvents) {
        deltas.insert(0, json!({"type": "novel_delta", "level": 1}));
    }
    deltas
}
