//! The stream of the Chat Completions protocol.

use serde_json::{Map, Value, json};
use superstep_nodes::message::{Origin, Part, Thinking};
use superstep_nodes::model::{ModelEvent, StopReason, Usage};

use super::PROVIDER;
use super::calls::Calls;
use crate::reply_stream::{ReplyReader, Unreadable, json};
use crate::sse::SseEvent;

/// Reads the stream of one completion, from OpenAI or a server that is compatible with it.
///
/// The reply is complete with its `finish_reason`; after it only the usage may come, and `[DONE]`, which some servers
/// leave out.
pub(super) struct ChunkReader {
    origin: Origin,
    request_id: Option<String>,
    has_begun: bool,
    thought: Option<Thought>,
    calls: Calls,
    /// The model has declined in words.
    has_declined: bool,
    has_stopped: bool,
    is_over: bool,
}

/// The thinking of the model, before its answer begins.
struct Thought {
    /// The member in which it comes, and in which it would be sent back.
    member: &'static str,
    text: String,
}

impl ChunkReader {
    pub(super) fn new(model: String, request_id: Option<String>) -> Self {
        Self {
            origin: Origin::new(PROVIDER, model),
            request_id,
            has_begun: false,
            thought: None,
            calls: Calls::default(),
            has_declined: false,
            has_stopped: false,
            is_over: false,
        }
    }

    fn begin(&mut self, chunk: &Value, said: &mut Vec<ModelEvent>) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let word = |member: &str| chunk[member].as_str().filter(|word| !word.is_empty()).map(str::to_owned);
        let model = word("model").unwrap_or_else(|| self.origin.model.clone());
        said.push(ModelEvent::Start { model, request_id: self.request_id.take().or_else(|| word("id")) });
    }

    fn go_on(&mut self, delta: &Value, said: &mut Vec<ModelEvent>) -> Result<(), Unreadable> {
        self.think(delta, said);
        let (content, refusal) = (spoken(&delta["content"]), spoken(&delta["refusal"]));
        self.has_declined |= !refusal.is_empty();
        for text in [content, refusal] {
            if !text.is_empty() {
                self.end_thought(said);
                said.push(ModelEvent::TextDelta { text });
            }
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.end_thought(said);
            self.calls.go_on(call, said)?;
        }
        // The older form, of one call without an id.
        if delta["function_call"].is_object() {
            self.end_thought(said);
            self.calls.go_on(&json!({ "index": 0, "function": delta["function_call"] }), said)?;
        }
        Ok(())
    }

    fn think(&mut self, delta: &Value, said: &mut Vec<ModelEvent>) {
        let found = ["reasoning_content", "reasoning"].into_iter().find_map(|member| {
            delta[member].as_str().filter(|text| !text.is_empty()).map(|text| (member, text))
        });
        let Some((member, text)) = found else {
            return;
        };
        let thought = self.thought.get_or_insert(Thought { member, text: String::new() });
        thought.text.push_str(text);
        said.push(ModelEvent::ThinkingDelta { text: text.to_owned() });
    }

    fn end_thought(&mut self, said: &mut Vec<ModelEvent>) {
        let Some(Thought { member, text }) = self.thought.take() else {
            return;
        };
        let raw: Map<String, Value> = [(member.to_owned(), text.as_str().into())].into_iter().collect();
        let thinking = Thinking { text, origin: self.origin.clone(), raw: raw.into() };
        said.push(ModelEvent::Part { part: Part::Thinking(thinking) });
    }

    fn stop(&mut self, reason: &str, said: &mut Vec<ModelEvent>) {
        let reason = self.stop_reason(reason);
        self.end_thought(said);
        self.calls.finish(reason.is_cut_off(), said);
        said.push(ModelEvent::Stop { reason });
        self.has_stopped = true;
    }

    fn stop_reason(&self, reason: &str) -> StopReason {
        match reason {
            "length" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refusal,
            _ if !self.calls.is_empty() => StopReason::ToolUse,
            _ if self.has_declined => StopReason::Refusal,
            "stop" | "tool_calls" | "function_call" => StopReason::EndTurn,
            other => StopReason::Other(other.to_owned()),
        }
    }
}

/// The text of a member: most servers say it as one, some as a list of parts.
fn spoken(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn usage(usage: &Value) -> Usage {
    let tokens = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    Usage {
        input_tokens: tokens("/prompt_tokens").unwrap_or(0),
        output_tokens: tokens("/completion_tokens").unwrap_or(0),
        cache_read_tokens: tokens("/prompt_tokens_details/cached_tokens")
            .or_else(|| tokens("/prompt_cache_hit_tokens"))
            .unwrap_or(0),
        cache_write_tokens: tokens("/prompt_tokens_details/cache_write_tokens").unwrap_or(0),
        reasoning_tokens: tokens("/completion_tokens_details/reasoning_tokens").unwrap_or(0),
    }
}

impl ReplyReader for ChunkReader {
    fn read(&mut self, event: &SseEvent, said: &mut Vec<ModelEvent>) -> Result<(), Unreadable> {
        if event.data.trim() == "[DONE]" {
            self.is_over = true;
            return Ok(());
        }
        let chunk = json(event)?;
        let is_error = event.name == "error" || chunk["object"] == "error" || !chunk["error"].is_null();
        // Some servers have a list of errors there.
        if is_error || chunk.is_array() {
            return Err(Unreadable::refused(&chunk));
        }
        self.begin(&chunk, said);
        // Only the first of several answers is read; no request asks for several.
        let choices = chunk["choices"].as_array().into_iter().flatten();
        for choice in choices.filter(|choice| choice["index"].as_u64().unwrap_or(0) == 0) {
            if self.has_stopped {
                break;
            }
            self.go_on(&choice["delta"], said)?;
            if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
                self.stop(reason, said);
            }
        }
        if chunk["usage"].is_object() {
            said.push(ModelEvent::Usage(usage(&chunk["usage"])));
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.has_stopped
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests;
