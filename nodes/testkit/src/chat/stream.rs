//! Answers of Chat Completions as streams of chunks.

use serde_json::{Value, json};

use super::render::{base, calls, finish_reason, usage};
use crate::said::{Occasion, Part, Said};
use crate::sse::Event;
use crate::{Quirk, Stop};

/// The events of an answer.
pub(crate) fn events(said: &Said, occasion: &Occasion<'_>) -> Vec<Event> {
    let with_usage = occasion.request.pointer("/stream_options/include_usage") == Some(&Value::Bool(true));
    let chunk = |choices: Value| {
        let mut chunk = base(said, occasion, "chat.completion.chunk");
        chunk.insert("choices".to_owned(), choices);
        if with_usage && !said.has(Quirk::NoUsage) {
            chunk.insert("usage".to_owned(), Value::Null);
        }
        Value::Object(chunk)
    };
    let choice = |delta: Value, finish: Option<&str>| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": null}]))
    };

    let mut chunks: Vec<Value> = deltas(said).into_iter().map(|delta| choice(delta, None)).collect();
    let mut is_done = !said.has(Quirk::NoDone);
    if let Stop::Failed { code, message } = said.stop() {
        chunks.push(json!({"error": {"message": message, "type": code, "param": null, "code": null}}));
        is_done = false;
    } else {
        let mut last = choice(json!({}), Some(finish_reason(said)));
        if said.has(Quirk::UsageWithChoice) {
            last["usage"] = usage(&said.usage);
        }
        chunks.push(last);
        if with_usage && !said.has(Quirk::NoUsage) && !said.has(Quirk::UsageWithChoice) {
            let mut total = chunk(json!([]));
            total["usage"] = usage(&said.usage);
            chunks.push(total);
        }
    }
    let done = is_done.then(Event::done);
    chunks.into_iter().map(Event::unnamed).chain(done).collect()
}

fn deltas(said: &Said) -> Vec<Value> {
    let content = if said.has_calls() && said.joined(Part::text).is_none() { Value::Null } else { json!("") };
    let mut deltas = vec![json!({"role": "assistant", "content": content, "refusal": null})];
    for part in &said.parts {
        let (member, text) = match part {
            Part::Text(text) => ("content", text),
            Part::Refusal(text) => ("refusal", text),
            Part::Thinking { text, .. } if said.has(Quirk::ReasoningContent) => ("reasoning_content", text),
            _ => continue,
        };
        deltas.extend(said.pieces(text).into_iter().map(|piece| json!({member: piece})));
    }
    deltas.extend(call_parts(said).into_iter().map(|part| json!({"tool_calls": [part]})));
    deltas
}

/// The parts of the tool calls, in the order in which they are sent.
fn call_parts(said: &Said) -> Vec<Value> {
    let of_each = calls(said).into_iter().map(|call| {
        let parts = if said.has(Quirk::WholeCalls) {
            vec![call.opening(said, call.input)]
        } else {
            let more = said.pieces(call.input).into_iter().map(|piece| call.more(piece));
            [call.opening(said, "")].into_iter().chain(more).collect()
        };
        parts.into_iter().map(|part| call.indexed(said, part)).collect::<Vec<_>>()
    });
    let of_each: Vec<Vec<Value>> = of_each.collect();
    if !said.has(Quirk::InterleavedCalls) {
        return of_each.concat();
    }
    let rounds = of_each.iter().map(Vec::len).max().unwrap_or(0);
    (0..rounds).flat_map(|round| of_each.iter().filter_map(move |parts| parts.get(round).cloned())).collect()
}
