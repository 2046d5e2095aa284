//! The stream of Anthropic's Messages protocol.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use superstep_nodes::message::{Native, Origin, Part, Thinking};
use superstep_nodes::model::{ModelEvent, StopReason, Usage};

use super::PROVIDER;
use crate::reply_stream::{ReplyReader, Unreadable, json};
use crate::sse::SseEvent;

/// Reads the stream of one message.
///
/// Blocks are told apart by their index, also those of kinds that are not known: so nothing lands in another's place.
pub(super) struct MessageReader {
    origin: Origin,
    request_id: Option<String>,
    blocks: BTreeMap<u64, Block>,
    calls: u32,
    usage: Map<String, Value>,
    stop: Option<StopReason>,
    is_over: bool,
}

/// A block in the making.
enum Block {
    Text,
    ToolCall {
        index: u32,
    },
    /// One that is kept as it comes.
    Raw(Value),
}

impl MessageReader {
    pub(super) fn new(model: String, request_id: Option<String>) -> Self {
        Self {
            origin: Origin::new(PROVIDER, model),
            request_id,
            blocks: BTreeMap::new(),
            calls: 0,
            usage: Map::new(),
            stop: None,
            is_over: false,
        }
    }

    fn begin(&mut self, message: &Value, said: &mut Vec<ModelEvent>) {
        let model = message["model"].as_str().unwrap_or(&self.origin.model).to_owned();
        said.push(ModelEvent::Start { model, request_id: self.request_id.take() });
        self.count(&message["usage"], said);
    }

    /// Takes in what was used. Each report has totals, of those that have changed.
    fn count(&mut self, usage: &Value, said: &mut Vec<ModelEvent>) {
        let Value::Object(usage) = usage else {
            return;
        };
        self.usage.extend(
            usage
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        let tokens = |name: &str| self.usage.get(name).and_then(Value::as_u64).unwrap_or(0);
        let (read, written) = (tokens("cache_read_input_tokens"), tokens("cache_creation_input_tokens"));
        let details = self.usage.get("output_tokens_details");
        said.push(ModelEvent::Usage(Usage {
            input_tokens: tokens("input_tokens").saturating_add(read).saturating_add(written),
            output_tokens: tokens("output_tokens"),
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: details.and_then(|it| it["thinking_tokens"].as_u64()).unwrap_or(0),
        }));
    }

    fn begin_block(&mut self, at: u64, block: &Value, said: &mut Vec<ModelEvent>) {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        let begun = match block["type"].as_str() {
            Some("text") => {
                let text = text("text");
                said.extend((!text.is_empty()).then_some(ModelEvent::TextDelta { text }));
                Block::Text
            }
            Some("tool_use") => {
                let index = self.calls;
                self.calls += 1;
                said.push(ModelEvent::ToolCallStart { index, id: text("id"), name: text("name") });
                // Whole inputs come here from servers that do not stream them.
                if block["input"].as_object().is_some_and(|input| !input.is_empty()) {
                    said.push(ModelEvent::ToolCallInput { index, json: block["input"].to_string() });
                }
                Block::ToolCall { index }
            }
            _ => Block::Raw(block.clone()),
        };
        self.blocks.insert(at, begun);
    }

    fn go_on(&mut self, at: u64, delta: &Value, said: &mut Vec<ModelEvent>) {
        let text = |name: &str| delta[name].as_str().unwrap_or_default().to_owned();
        let kind = delta["type"].as_str().unwrap_or_default();
        match (self.blocks.get_mut(&at), kind) {
            (Some(Block::Text), "text_delta") => said.push(ModelEvent::TextDelta { text: text("text") }),
            (Some(Block::ToolCall { index }), "input_json_delta") => {
                said.push(ModelEvent::ToolCallInput { index: *index, json: text("partial_json") });
            }
            (Some(Block::Raw(raw)), "thinking_delta") => {
                append(raw, "thinking", &text("thinking"));
                said.push(ModelEvent::ThinkingDelta { text: text("thinking") });
            }
            (Some(Block::Raw(raw)), "signature_delta") => append(raw, "signature", &text("signature")),
            (Some(Block::Raw(raw)), "text_delta") => append(raw, "text", &text("text")),
            // The input of a tool that the provider runs: text until it is complete.
            (Some(Block::Raw(raw)), "input_json_delta") => append(raw, PARTIAL_INPUT, &text("partial_json")),
            // A new kind of delta, or one that does not fit its block.
            _ => {}
        }
    }

    fn end_block(&mut self, at: u64, said: &mut Vec<ModelEvent>) {
        match self.blocks.remove(&at) {
            Some(Block::ToolCall { index }) => said.push(ModelEvent::ToolCallEnd { index }),
            Some(Block::Raw(raw)) => said.push(ModelEvent::Part { part: self.part(raw) }),
            Some(Block::Text) | None => {}
        }
    }

    fn part(&self, mut raw: Value) -> Part {
        let input = raw.as_object_mut().and_then(|raw| raw.remove(PARTIAL_INPUT));
        if let Some(input) =
            input.as_ref().and_then(Value::as_str).and_then(|input| serde_json::from_str(input).ok())
        {
            raw["input"] = input;
        }
        let origin = self.origin.clone();
        match raw["type"].as_str() {
            Some("thinking" | "redacted_thinking") => {
                let text = raw["thinking"].as_str().unwrap_or_default().to_owned();
                Part::Thinking(Thinking { text, origin, raw })
            }
            _ => Part::Native(Native { origin, raw }),
        }
    }
}

/// The member of a block that holds its input while it arrives.
const PARTIAL_INPUT: &str = "partial_input";

fn append(raw: &mut Value, member: &str, more: &str) {
    match &mut raw[member] {
        Value::String(text) => text.push_str(more),
        absent => *absent = more.into(),
    }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "pause_turn" => StopReason::Pause,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::WindowFull,
        other => StopReason::Other(other.to_owned()),
    }
}

impl ReplyReader for MessageReader {
    fn read(&mut self, event: &SseEvent, said: &mut Vec<ModelEvent>) -> Result<(), Unreadable> {
        let json = json(event)?;
        let at =
            || json["index"].as_u64().ok_or_else(|| Unreadable::Malformed("a block has no index".into()));
        match json["type"].as_str().unwrap_or(&event.name) {
            "message_start" => self.begin(&json["message"], said),
            "content_block_start" => self.begin_block(at()?, &json["content_block"], said),
            "content_block_delta" => self.go_on(at()?, &json["delta"], said),
            "content_block_stop" => self.end_block(at()?, said),
            "message_delta" => {
                if let Some(reason) = json["delta"]["stop_reason"].as_str() {
                    self.stop = Some(stop_reason(reason));
                }
                self.count(&json["usage"], said);
            }
            "message_stop" => {
                let without_reason = if self.calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
                said.push(ModelEvent::Stop { reason: self.stop.take().unwrap_or(without_reason) });
                self.is_over = true;
            }
            "error" => return Err(Unreadable::refused(&json)),
            // A ping, or something new.
            _ => {}
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests;
