//! Messages as blocks that begin, grow and end.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use superstep_nodes::model::ModelEvent;
use superstep_nodes::node::ModelChunk;

use crate::legacy::{Chat, Piece};
use crate::wire::{message, values};

/// The messages that a thread streams.
#[derive(Debug, Default)]
pub(super) struct Messages {
    chat: Chat,
    open: HashMap<String, Open>,
}

/// A message that has begun.
#[derive(Debug, Default)]
struct Open {
    /// The task that writes it.
    task: String,
    blocks: usize,
    block: Option<Block>,
}

/// The block that grows.
#[derive(Debug)]
enum Block {
    Text(String),
    Reasoning(String),
    Call { id: String, name: String, input: String },
}

impl Messages {
    /// Returns the events of a piece of a model's output.
    pub(super) fn push(&mut self, task: &str, chunk: &ModelChunk) -> Vec<Value> {
        let piece = self.chat.push(chunk);
        let mut events = Vec::new();
        if piece.is_first {
            events.push(json!({ "event": "message-start", "role": "ai", "id": piece.id }));
            self.open.insert(piece.id.clone(), Open { task: task.to_owned(), ..Open::default() });
        }
        let Some(open) = self.open.get_mut(&piece.id) else { return events };
        open.push(&chunk.event, &piece, &mut events);
        if piece.is_last {
            events.push(finished(&piece));
            self.open.remove(&piece.id);
        }
        events
    }

    /// Returns the events of a task's end: its open messages end, and its complete ones are told at once. `known` is
    /// `true` if clients have the messages from an earlier run.
    pub(super) fn finish(&mut self, task: &str, update: &Value, known: bool) -> Vec<Value> {
        let mut events = Vec::new();
        for (_, mut open) in self.open.extract_if(|_, open| open.task == task) {
            open.close(&mut events);
            events.push(json!({ "event": "message-finish" }));
        }
        for (id, message) in self.chat.complete(update).into_iter().filter(|_| !known) {
            complete(&id, &message, &mut events);
        }
        events
    }

    /// Returns the events of a task's failure.
    pub(super) fn fail(&mut self, task: &str, why: &str) -> Vec<Value> {
        let failed = self.open.extract_if(|_, open| open.task == task);
        failed.map(|_| json!({ "event": "error", "message": why })).collect()
    }

    /// Marks the messages of a state, which are not told again.
    pub(super) fn mark(&mut self, values: &Value) {
        self.chat.mark(values);
    }
}

impl Open {
    fn push(&mut self, event: &ModelEvent, piece: &Piece, events: &mut Vec<Value>) {
        match event {
            ModelEvent::TextDelta { text } => {
                if !matches!(self.block, Some(Block::Text(_))) {
                    self.start(Block::Text(String::new()), events);
                }
                self.grow(text, json!({ "type": "text-delta", "text": text }), events);
            }
            ModelEvent::ThinkingDelta { text } => {
                if !matches!(self.block, Some(Block::Reasoning(_))) {
                    self.start(Block::Reasoning(String::new()), events);
                }
                self.grow(text, json!({ "type": "reasoning-delta", "reasoning": text }), events);
            }
            ModelEvent::ToolCallStart { id, name, .. } => {
                let (id, name) = (id.clone(), name.clone());
                self.start(Block::Call { id, name, input: String::new() }, events);
            }
            ModelEvent::ToolCallInput { json: args, .. } => {
                self.grow(args, json!({ "type": "tool-call-delta", "args": args }), events);
            }
            ModelEvent::Part { .. } => {
                for block in piece.chunks.iter().flat_map(|chunk| chunk["content"].as_array()).flatten() {
                    self.close(events);
                    events.push(
                        json!({ "event": "content-block-start", "index": self.blocks, "content": block }),
                    );
                    events.push(
                        json!({ "event": "content-block-finish", "index": self.blocks, "content": block }),
                    );
                    self.blocks += 1;
                }
            }
            ModelEvent::ToolCallEnd { .. } | ModelEvent::Stop { .. } => self.close(events),
            _ => {}
        }
    }

    fn start(&mut self, block: Block, events: &mut Vec<Value>) {
        self.close(events);
        events
            .push(json!({ "event": "content-block-start", "index": self.blocks, "content": block.begun() }));
        self.block = Some(block);
    }

    fn grow(&mut self, text: &str, delta: Value, events: &mut Vec<Value>) {
        if let Some(block) = &mut self.block {
            block.text().push_str(text);
            events.push(json!({ "event": "content-block-delta", "index": self.blocks, "delta": delta }));
        }
    }

    fn close(&mut self, events: &mut Vec<Value>) {
        if let Some(block) = self.block.take() {
            let content = block.finished();
            events.push(json!({ "event": "content-block-finish", "index": self.blocks, "content": content }));
            self.blocks += 1;
        }
    }
}

impl Block {
    fn text(&mut self) -> &mut String {
        match self {
            Self::Text(text) | Self::Reasoning(text) => text,
            Self::Call { input, .. } => input,
        }
    }

    fn begun(&self) -> Value {
        match self {
            Self::Text(_) => json!({ "type": "text", "text": "" }),
            Self::Reasoning(_) => json!({ "type": "reasoning", "reasoning": "" }),
            Self::Call { id, name, .. } => {
                json!({ "type": "tool_call_chunk", "id": id, "name": name, "args": "" })
            }
        }
    }

    fn finished(self) -> Value {
        match self {
            Self::Text(text) => json!({ "type": "text", "text": text }),
            Self::Reasoning(text) => json!({ "type": "reasoning", "reasoning": text }),
            Self::Call { id, name, input } => {
                let args: Value = serde_json::from_str(&input).unwrap_or_else(|_| json!({}));
                json!({ "type": "tool_call", "id": id, "name": name, "args": args })
            }
        }
    }
}

/// Returns the end of a message, with the usage and the metadata of the reply if the stream said them.
fn finished(piece: &Piece) -> Value {
    let mut event = json!({ "event": "message-finish" });
    for (name, member) in [("usage", "usage_metadata"), ("metadata", "response_metadata")] {
        let value = &piece.so_far[member];
        if !value.is_null() && value.as_object().is_none_or(|members| !members.is_empty()) {
            event[name] = value.clone();
        }
    }
    event
}

/// Adds the events of a message that did not arrive in pieces.
fn complete(id: &str, message: &Value, events: &mut Vec<Value>) {
    let mut start = json!({ "event": "message-start", "role": message["type"], "id": id });
    if let Some(call) = message.get("tool_call_id") {
        start["tool_call_id"] = call.clone();
    }
    events.push(start);
    for (index, block) in blocks(message).into_iter().enumerate() {
        events.push(json!({ "event": "content-block-start", "index": index, "content": block }));
        events.push(json!({ "event": "content-block-finish", "index": index, "content": block }));
    }
    events.push(json!({ "event": "message-finish" }));
}

/// Returns the content of a message as blocks, with its tool calls.
fn blocks(message: &Value) -> Vec<Value> {
    let content = match &message["content"] {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    };
    let has_call = content.iter().any(|block| block["type"] == "tool_call");
    let calls = message["tool_calls"].as_array().into_iter().flatten().filter(|_| !has_call);
    content.into_iter().chain(calls.cloned()).collect()
}

/// Returns a value in the form of clients with its messages in the compact form of the protocol: members without a
/// value are left out, and replies of models consist of blocks.
pub(super) fn compact(value: &Value) -> Value {
    if message::outgoing(value).is_some() {
        return compact_message(value);
    }
    match value {
        Value::Array(items) => items.iter().map(compact).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), compact(value))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn compact_message(message: &Value) -> Value {
    let has_value = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    let members = message.as_object().into_iter().flatten();
    let mut compact: Map<String, Value> = members
        .filter(|(name, value)| *name == "content" || has_value(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if message["type"] == "ai" {
        let blocks = blocks(message).into_iter().enumerate().map(|(index, mut block)| {
            block["index"] = index.into();
            block
        });
        compact.insert("content".into(), blocks.collect::<Vec<_>>().into());
        let metadata = compact.entry("response_metadata").or_insert_with(|| json!({}));
        metadata["output_version"] = "v1".into();
    }
    compact.into()
}

/// Returns an update of a task in the compact form.
pub(super) fn update(writes: &[superstep_core::run::NamedWrite]) -> Value {
    let writes = writes.iter().map(|write| (write.field.as_str(), write.value.decode().unwrap_or_default()));
    values::update(writes).into()
}
