//! Messages as they arrive from models, in the form of clients.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};
use superstep_nodes::model::{ModelEvent, StopReason, Usage};
use superstep_nodes::node::ModelChunk;

use crate::wire::message;

/// The messages that a run streams.
#[derive(Debug, Default)]
pub(crate) struct Chat {
    open: HashMap<String, Open>,
    /// The ids of messages that clients have, in pieces or complete.
    seen: HashSet<String>,
}

/// A message that is arriving.
#[derive(Debug, Default)]
struct Open {
    model: Option<String>,
    text: String,
    thinking: String,
    parts: Vec<Value>,
    calls: Vec<OpenCall>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
}

#[derive(Debug)]
struct OpenCall {
    index: u32,
    id: String,
    name: String,
    input: String,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    /// The id of the message.
    pub(crate) id: String,
    /// `true` for the first piece.
    pub(crate) is_first: bool,
    /// `true` for the last piece of a reply.
    pub(crate) is_last: bool,
    /// The name of the model, if the stream said it.
    pub(crate) model: Option<String>,
    /// The pieces as chunks of messages; none for an event that adds nothing.
    pub(crate) chunks: Vec<Value>,
    /// The message so far.
    pub(crate) so_far: Value,
}

impl Chat {
    /// Adds a piece of a model's output.
    pub(crate) fn push(&mut self, chunk: &ModelChunk) -> Piece {
        let id = chunk.message.to_string();
        if matches!(chunk.event, ModelEvent::Start { .. }) {
            self.open.remove(&id);
        }
        let is_first = !self.open.contains_key(&id);
        self.seen.insert(id.clone());
        let open = self.open.entry(id.clone()).or_default();
        let chunks = open.push(&id, &chunk.event);
        let is_last = matches!(chunk.event, ModelEvent::Stop { .. });
        Piece { is_first, is_last, model: open.model.clone(), chunks, so_far: open.so_far(&id), id }
    }

    /// Marks messages that clients have, such as those of an input.
    pub(crate) fn mark(&mut self, value: &Value) {
        each_message(value, &mut |id, _| {
            self.seen.insert(id.to_owned());
        });
    }

    /// Returns the messages of an update, in the form of clients, that clients do not have yet.
    pub(crate) fn complete(&mut self, update: &Value) -> Vec<(String, Value)> {
        let mut new = Vec::new();
        each_message(update, &mut |id, message| {
            if self.seen.insert(id.to_owned()) {
                new.push((id.to_owned(), message.clone()));
            }
        });
        new
    }
}

/// Calls a function with each message of a value in the form of clients.
fn each_message(value: &Value, found: &mut impl FnMut(&str, &Value)) {
    if message::outgoing(value).is_some()
        && let Some(id) = value["id"].as_str()
    {
        return found(id, value);
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_message(item, found)),
        Value::Object(members) => members.values().for_each(|member| each_message(member, found)),
        _ => {}
    }
}

impl Open {
    /// Adds an event, and returns the chunks that tell it.
    fn push(&mut self, id: &str, event: &ModelEvent) -> Vec<Value> {
        match event {
            ModelEvent::Start { model, .. } => {
                self.model = Some(model.clone());
                Vec::new()
            }
            ModelEvent::TextDelta { text } => {
                self.text.push_str(text);
                vec![chunk(id, text.as_str().into())]
            }
            ModelEvent::ThinkingDelta { text } => {
                self.thinking.push_str(text);
                vec![chunk(id, json!([{ "type": "reasoning", "reasoning": text, "index": 0 }]))]
            }
            ModelEvent::Part { part } => self.part(id, json!(part)),
            ModelEvent::ToolCallStart { index, id: call, name } => {
                let open =
                    OpenCall { index: *index, id: call.clone(), name: name.clone(), input: String::new() };
                self.calls.push(open);
                vec![call_chunk(id, *index, Some((call, name)), "")]
            }
            ModelEvent::ToolCallInput { index, json } => {
                if let Some(call) = self.calls.iter_mut().rfind(|call| call.index == *index) {
                    call.input.push_str(json);
                }
                vec![call_chunk(id, *index, None, json)]
            }
            ModelEvent::Usage(usage) => {
                self.usage = Some(self.usage.map_or(*usage, |known| known.max(*usage)));
                match self.stop {
                    Some(_) => vec![self.usage_chunk(id)],
                    None => Vec::new(),
                }
            }
            ModelEvent::Stop { reason } => {
                self.stop = Some(reason.clone());
                let mut last = chunk(id, "".into());
                last["chunk_position"] = "last".into();
                match self.usage.is_some() || self.model.is_some() {
                    true => vec![self.usage_chunk(id), last],
                    false => vec![last],
                }
            }
            _ => Vec::new(),
        }
    }

    /// Adds a complete part. Thinking has arrived in pieces before.
    fn part(&mut self, id: &str, part: Value) -> Vec<Value> {
        let told = part["type"] == "thinking" && !self.thinking.is_empty();
        self.parts.push(part);
        let blocks = self.parts.last().map(|part| shown_parts(id, vec![part.clone()]));
        blocks.filter(|_| !told).map(|blocks| chunk(id, blocks)).into_iter().collect()
    }

    fn usage_chunk(&self, id: &str) -> Value {
        let mut chunk = chunk(id, "".into());
        chunk["usage_metadata"] = self.usage_metadata();
        chunk["response_metadata"] = self.response_metadata();
        chunk
    }

    fn usage_metadata(&self) -> Value {
        let Some(usage) = self.usage else { return Value::Null };
        let mut shown = json!({
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total(),
        });
        if usage.cache_read_tokens + usage.cache_write_tokens > 0 {
            shown["input_token_details"] =
                json!({ "cache_read": usage.cache_read_tokens, "cache_creation": usage.cache_write_tokens });
        }
        if usage.reasoning_tokens > 0 {
            shown["output_token_details"] = json!({ "reasoning": usage.reasoning_tokens });
        }
        shown
    }

    fn response_metadata(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(reason) = &self.stop {
            metadata.insert("finish_reason".into(), finish_reason(reason).into());
        }
        if let Some(model) = &self.model {
            metadata.insert("model_name".into(), model.as_str().into());
        }
        metadata.into()
    }

    /// Returns the message so far.
    fn so_far(&self, id: &str) -> Value {
        let mut parts = self.parts.clone();
        if parts.is_empty() && !self.thinking.is_empty() {
            parts.push(json!({ "type": "reasoning", "reasoning": self.thinking }));
        }
        let content = match parts.is_empty() {
            true => self.text.as_str().into(),
            false => {
                if !self.text.is_empty() {
                    parts.push(json!({ "type": "text", "text": self.text }));
                }
                shown_parts(id, parts)
            }
        };
        let calls = self.calls.iter().map(|call| {
            let args: Value = serde_json::from_str(&call.input).unwrap_or_else(|_| json!({}));
            json!({ "name": call.name, "args": args, "id": call.id, "type": "tool_call" })
        });
        json!({
            "content": content, "additional_kwargs": {}, "response_metadata": self.response_metadata_if_stopped(),
            "type": "ai", "name": null, "id": id, "tool_calls": calls.collect::<Vec<_>>(),
            "invalid_tool_calls": [], "usage_metadata": self.usage_metadata(),
        })
    }

    fn response_metadata_if_stopped(&self) -> Value {
        match self.stop {
            Some(_) => self.response_metadata(),
            None => json!({}),
        }
    }
}

/// Returns parts of a state as content blocks.
fn shown_parts(id: &str, parts: Vec<Value>) -> Value {
    let whole = message::outgoing(&json!({ "type": "ai", "id": id, "content": parts }));
    whole.map(|message| message["content"].clone()).unwrap_or_default()
}

fn chunk(id: &str, content: Value) -> Value {
    json!({
        "content": content, "additional_kwargs": {}, "response_metadata": {}, "type": "AIMessageChunk", "name": null,
        "id": id, "tool_calls": [], "invalid_tool_calls": [], "usage_metadata": null, "tool_call_chunks": [],
        "chunk_position": null,
    })
}

fn call_chunk(id: &str, index: u32, begins: Option<(&str, &str)>, args: &str) -> Value {
    let mut chunk = chunk(id, "".into());
    let (call, name) = begins.unzip();
    chunk["tool_call_chunks"] =
        json!([{ "name": name, "args": args, "id": call, "index": index, "type": "tool_call_chunk" }]);
    if begins.is_some() {
        chunk["tool_calls"] = json!([{ "name": name, "args": {}, "id": call, "type": "tool_call" }]);
    }
    chunk
}

/// Returns the reason for which a reply ended, as the words that most providers use.
fn finish_reason(reason: &StopReason) -> &str {
    match reason {
        StopReason::EndTurn | StopReason::StopSequence => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens | StopReason::WindowFull => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Pause => "pause_turn",
        StopReason::Interrupted => "interrupted",
        StopReason::Other(reason) => reason,
        _ => "stop",
    }
}
