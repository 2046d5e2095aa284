//! Answers of the Messages API that are not streamed.

use serde_json::{Map, Value, json};

use crate::said::{Occasion, Part, Said};
use crate::{Quirk, Stop, Usage};

/// A whole answer.
pub(crate) fn message(said: &Said, occasion: &Occasion<'_>) -> Value {
    let mut message = json!({
        "id": occasion.id("msg_mock"),
        "type": "message",
        "role": "assistant",
        "model": occasion.model(said),
        "content": content(said, occasion),
        "usage": usage(&said.usage),
    });
    let members = message.as_object_mut().expect("it was written as one");
    members.append(&mut ending(&said.stop()));
    if said.has(Quirk::UnknownEvents) {
        members.insert("novelty".to_owned(), json!({"level": 1}));
    }
    message
}

/// The blocks of an answer.
pub(super) fn content(said: &Said, occasion: &Occasion<'_>) -> Vec<Value> {
    said.parts.iter().enumerate().map(|(index, part)| block(part, index, occasion)).collect()
}

fn block(part: &Part, index: usize, occasion: &Occasion<'_>) -> Value {
    match part {
        Part::Text(text) | Part::Refusal(text) => json!({"type": "text", "text": text}),
        Part::Thinking { text, signature } => {
            let is_omitted =
                occasion.request.pointer("/thinking/display").is_some_and(|how| how == "omitted");
            let signature = signature.clone().unwrap_or_else(|| occasion.part_id("c2lnbmF0dXJl", index));
            json!({"type": "thinking", "thinking": if is_omitted { "" } else { text }, "signature": signature})
        }
        Part::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        Part::Call { id, name, input } => {
            // A call that was cut off has no input that could be sent otherwise than in a stream.
            let input = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    }
}

/// Returns the members that tell why an answer ends.
pub(super) fn ending(stop: &Stop) -> Map<String, Value> {
    let reason = match stop {
        Stop::EndTurn | Stop::Failed { .. } => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::StopSequence(_) => "stop_sequence",
        Stop::Pause => "pause_turn",
        Stop::Refusal => "refusal",
        Stop::ContextWindow => "model_context_window_exceeded",
    };
    let sequence = if let Stop::StopSequence(text) = stop { Some(text) } else { None };
    let mut ending = Map::from_iter([
        ("stop_reason".to_owned(), json!(reason)),
        ("stop_sequence".to_owned(), json!(sequence)),
    ]);
    if *stop == Stop::Refusal {
        let details = json!({"type": "refusal", "category": null, "explanation": null});
        ending.insert("stop_details".to_owned(), details);
    }
    ending
}

pub(super) fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_written,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_written,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": usage.output,
        "service_tier": "standard",
    })
}
