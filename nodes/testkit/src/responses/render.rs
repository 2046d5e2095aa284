//! Answers of the Responses API that are not streamed.

use serde_json::{Value, json};

use crate::said::{Occasion, Part, Said};
use crate::{Quirk, Stop, Usage};

/// When all answers were made, in seconds since 1970: tests want the same bytes every time.
const CREATED: u64 = 1_700_000_000;

/// A whole answer.
pub(crate) fn response(said: &Said, occasion: &Occasion<'_>) -> Value {
    let mut response = begun(said, occasion);
    let stop = said.stop();
    response["status"] = json!(status(&stop, said));
    response["output"] = json!(items(said, occasion));
    if let Some(reason) = incomplete(&stop, said) {
        response["incomplete_details"] = json!({"reason": reason});
    }
    if let Stop::Failed { code, message } = stop {
        response["error"] = json!({"code": code, "message": message});
    } else {
        response["usage"] = usage(&said.usage);
    }
    response
}

/// The answer before anything is said.
pub(super) fn begun(said: &Said, occasion: &Occasion<'_>) -> Value {
    let asked = |key: &str, otherwise: Value| occasion.request.get(key).cloned().unwrap_or(otherwise);
    let mut response = json!({
        "id": occasion.id("resp_mock"),
        "object": "response",
        "created_at": CREATED,
        "status": "in_progress",
        "error": null,
        "incomplete_details": null,
        "instructions": asked("instructions", Value::Null),
        "max_output_tokens": asked("max_output_tokens", Value::Null),
        "metadata": asked("metadata", json!({})),
        "model": occasion.model(said),
        "output": [],
        "parallel_tool_calls": asked("parallel_tool_calls", json!(true)),
        "previous_response_id": asked("previous_response_id", Value::Null),
        "store": asked("store", json!(true)),
        "temperature": asked("temperature", json!(1.0)),
        "tool_choice": asked("tool_choice", json!("auto")),
        "tools": asked("tools", json!([])),
        "top_p": asked("top_p", json!(1.0)),
        "usage": null,
    });
    if said.has(Quirk::UnknownEvents) {
        response["novelty"] = json!({"level": 1});
    }
    response
}

pub(super) fn status(stop: &Stop, said: &Said) -> &'static str {
    match stop {
        Stop::Failed { .. } => "failed",
        _ if incomplete(stop, said).is_some() => "incomplete",
        _ => "completed",
    }
}

fn incomplete(stop: &Stop, said: &Said) -> Option<&'static str> {
    match stop {
        Stop::MaxTokens | Stop::ContextWindow => Some("max_output_tokens"),
        // A model that declines in words has stopped by itself.
        Stop::Refusal if said.joined(Part::refusal).is_none() => Some("content_filter"),
        _ => None,
    }
}

/// Returns the items of an answer, each in its final form.
pub(super) fn items(said: &Said, occasion: &Occasion<'_>) -> Vec<Value> {
    let includes = occasion.request.get("include").and_then(Value::as_array);
    let is_encrypted =
        includes.is_some_and(|all| all.iter().any(|included| included == "reasoning.encrypted_content"));
    let mut items: Vec<Value> = Vec::with_capacity(said.parts.len());
    for (index, part) in said.parts.iter().enumerate() {
        items.push(match part {
            Part::Text(_) | Part::Refusal(_) => json!({
                "id": occasion.part_id("msg_mock", index),
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [content(part)],
            }),
            Part::Call { id, name, input } => json!({
                "id": occasion.part_id("fc_mock", index),
                "type": "function_call",
                "status": "completed",
                "call_id": id,
                "name": name,
                "arguments": input,
            }),
            Part::Thinking { text, signature } => {
                let sealed = signature.clone().unwrap_or_else(|| occasion.part_id("ZW5jcnlwdGVk", index));
                let summary = json!([{"type": "summary_text", "text": text}]);
                reasoning(occasion.part_id("rs_mock", index), summary, is_encrypted.then_some(sealed))
            }
            Part::Redacted(data) => {
                let sealed = is_encrypted.then(|| data.clone());
                reasoning(occasion.part_id("rs_mock", index), json!([]), sealed)
            }
        });
    }
    let last = items.last_mut().filter(|last| last.get("status").is_some());
    if let (Some(last), "incomplete") = (last, status(&said.stop(), said)) {
        last["status"] = json!("incomplete");
    }
    items
}

fn reasoning(id: String, summary: Value, sealed: Option<String>) -> Value {
    let mut item = json!({"id": id, "type": "reasoning", "summary": summary});
    if let Some(sealed) = sealed {
        item["encrypted_content"] = json!(sealed);
    }
    item
}

fn content(part: &Part) -> Value {
    match part {
        Part::Refusal(text) => json!({"type": "refusal", "refusal": text}),
        _ => {
            let text = part.text().unwrap_or_default();
            json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
        }
    }
}

pub(super) fn usage(usage: &Usage) -> Value {
    let input = usage.whole_input();
    json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_written,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": input + usage.output,
    })
}
