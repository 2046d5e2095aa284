//! Answers of Chat Completions that are not streamed.

use serde_json::{Map, Value, json};

use crate::said::{Occasion, Part, Said};
use crate::{Quirk, Stop, Usage};

/// When all answers were made, in seconds since 1970: tests want the same bytes every time.
const CREATED: u64 = 1_700_000_000;

/// A whole answer.
pub(crate) fn completion(said: &Said, occasion: &Occasion<'_>) -> Value {
    let mut message = json!({
        "role": "assistant",
        "content": said.joined(Part::text),
        "refusal": said.joined(Part::refusal),
        "annotations": [],
    });
    if said.has_calls() {
        message["tool_calls"] = calls(said).into_iter().map(|call| call.opening(said, call.input)).collect();
    }
    if said.has(Quirk::ReasoningContent) {
        message["reasoning_content"] = json!(said.joined(Part::thinking));
    }
    let mut answer = base(said, occasion, "chat.completion");
    answer.insert(
        "choices".to_owned(),
        json!([{"index": 0, "message": message, "finish_reason": finish_reason(said), "logprobs": null}]),
    );
    if !said.has(Quirk::NoUsage) {
        answer.insert("usage".to_owned(), usage(&said.usage));
    }
    Value::Object(answer)
}

/// Returns the common members of an answer and of each of its chunks.
pub(super) fn base(said: &Said, occasion: &Occasion<'_>, object: &str) -> Map<String, Value> {
    let mut base = Map::from_iter([
        ("id".to_owned(), json!(occasion.id("chatcmpl-mock"))),
        ("object".to_owned(), json!(object)),
        ("created".to_owned(), json!(CREATED)),
        ("model".to_owned(), json!(occasion.model(said))),
        ("service_tier".to_owned(), json!("default")),
        ("system_fingerprint".to_owned(), json!("fp_mock")),
    ]);
    if said.has(Quirk::UnknownEvents) {
        base.insert("novelty".to_owned(), json!({"level": 1}));
    }
    base
}

/// A tool call among the others of an answer.
pub(super) struct Call<'a> {
    index: usize,
    id: &'a str,
    name: &'a str,
    pub(super) input: &'a str,
}

/// The tool calls of an answer.
pub(super) fn calls(said: &Said) -> Vec<Call<'_>> {
    let calls = said.parts.iter().filter_map(|part| match part {
        Part::Call { id, name, input } => Some((id, name, input)),
        _ => None,
    });
    calls.enumerate().map(|(index, (id, name, input))| Call { index, id, name, input }).collect()
}

impl Call<'_> {
    /// The call with the beginning of its arguments, or all of them.
    pub(super) fn opening(&self, said: &Said, arguments: &str) -> Value {
        let id = if said.has(Quirk::EmptyIds) { "" } else { self.id };
        json!({"id": id, "type": "function", "function": {"name": self.name, "arguments": arguments}})
    }

    /// More of the arguments.
    pub(super) fn more(&self, arguments: &str) -> Value {
        json!({"function": {"arguments": arguments}})
    }

    /// A part of the call as a part of a stream.
    pub(super) fn indexed(&self, said: &Said, mut part: Value) -> Value {
        if !said.has(Quirk::MissingIndex) {
            part["index"] = json!(self.index);
        }
        part
    }
}

pub(super) fn finish_reason(said: &Said) -> &'static str {
    match said.stop() {
        _ if said.has_calls() && said.has(Quirk::StopWithCalls) => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens | Stop::ContextWindow => "length",
        // A model that declines in words has stopped by itself.
        Stop::Refusal if said.joined(Part::refusal).is_none() => "content_filter",
        _ => "stop",
    }
}

pub(super) fn usage(usage: &Usage) -> Value {
    let input = usage.whole_input();
    json!({
        "prompt_tokens": input,
        "completion_tokens": usage.output,
        "total_tokens": input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    })
}
