//! The stream of the Responses protocol.

use std::collections::BTreeMap;

use serde_json::Value;
use superstep_nodes::message::{Native, Origin, Part, Thinking};
use superstep_nodes::model::{ModelEvent, StopReason, Usage};

use super::PROVIDER;
use crate::reply_stream::{ReplyReader, Unreadable, json};
use crate::sse::SseEvent;

/// Reads the stream of one response.
///
/// The reply is its output items, which are told apart by their index, or by their ids where a server leaves that out.
/// Each comes in pieces, and as a whole at its end; what of the whole has not come in pieces is said then.
pub(super) struct ItemReader {
    origin: Origin,
    request_id: Option<String>,
    has_begun: bool,
    items: BTreeMap<u64, Item>,
    places: Places,
    calls: u32,
    /// The model has declined in words.
    has_declined: bool,
    is_over: bool,
}

/// The places of items. An event names its item by its index, or by its id alone: servers such as llama.cpp never send an
/// index, and name a tool call by the id of the call; others send it with some events only.
#[derive(Default)]
struct Places {
    /// The items that an event without an index was about, by their ids.
    by_id: BTreeMap<String, u64>,
    /// The indices of the other items, by their ids.
    indices: BTreeMap<String, u64>,
    /// The place of an item with a new id: after all others.
    next: u64,
}

impl Places {
    /// Returns the place of the item that an event is about.
    fn of_event(&mut self, event: &Value) -> Result<u64, Unreadable> {
        let item = &event["item"];
        let ids = [&event["item_id"], &item["id"], &item["call_id"]].map(Value::as_str);
        let ids: Vec<&str> = ids.into_iter().flatten().filter(|id| !id.is_empty()).collect();
        let index = event["output_index"].as_u64();
        if index.is_none() && ids.is_empty() {
            return Err(Unreadable::Malformed("an item has neither an index nor an id".into()));
        }
        let known =
            || ids.iter().find_map(|id| self.by_id.get(*id).or_else(|| self.indices.get(*id)).copied());
        let place = index.or_else(known).unwrap_or(self.next);
        self.next = self.next.max(place.saturating_add(1));
        let places = if index.is_some() { &mut self.indices } else { &mut self.by_id };
        places.extend(ids.into_iter().map(|id| (id.to_owned(), place)));
        Ok(place)
    }

    /// Returns the place of an item of the whole response, which has this index there.
    fn of_item(&self, item: &Value, index: u64) -> u64 {
        let ids = [&item["id"], &item["call_id"]].map(Value::as_str);
        ids.into_iter().flatten().find_map(|id| self.by_id.get(id).copied()).unwrap_or(index)
    }
}

/// An output item in the making.
#[derive(Default)]
struct Item {
    /// The position of the call, if it is one.
    call: Option<u32>,
    /// The part of its text, or of its input, that has been received.
    heard: String,
    is_done: bool,
}

impl Item {
    /// Returns the part of a whole text that has not been received yet.
    fn rest<'a>(&self, whole: &'a str) -> &'a str {
        whole.strip_prefix(self.heard.as_str()).unwrap_or_default()
    }
}

impl ItemReader {
    pub(super) fn new(model: String, request_id: Option<String>) -> Self {
        Self {
            origin: Origin::new(PROVIDER, model),
            request_id,
            has_begun: false,
            items: BTreeMap::new(),
            places: Places::default(),
            calls: 0,
            has_declined: false,
            is_over: false,
        }
    }

    fn begin(&mut self, response: &Value, said: &mut Vec<ModelEvent>) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let word =
            |member: &str| response[member].as_str().filter(|word| !word.is_empty()).map(str::to_owned);
        let model = word("model").unwrap_or_else(|| self.origin.model.clone());
        said.push(ModelEvent::Start { model, request_id: self.request_id.take().or_else(|| word("id")) });
    }

    fn begin_item(&mut self, at: u64, item: &Value, said: &mut Vec<ModelEvent>) {
        if item["type"] == "function_call" {
            self.begin_call(at, item, said);
        }
    }

    /// The call that an item is, which begins if it has not.
    fn begin_call(&mut self, at: u64, item: &Value, said: &mut Vec<ModelEvent>) -> u32 {
        let held = self.items.entry(at).or_default();
        *held.call.get_or_insert_with(|| {
            let index = self.calls;
            self.calls += 1;
            let text = |member: &str| item[member].as_str().unwrap_or_default().to_owned();
            said.push(ModelEvent::ToolCallStart { index, id: text("call_id"), name: text("name") });
            index
        })
    }

    fn say(&mut self, at: u64, text: &str, said: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.items.entry(at).or_default().heard.push_str(text);
            said.push(ModelEvent::TextDelta { text: text.to_owned() });
        }
    }

    fn go_on_with_call(&mut self, at: u64, json: &str, said: &mut Vec<ModelEvent>) {
        let Some(held) = self.items.get_mut(&at) else {
            return;
        };
        if let (Some(index), false, false) = (held.call, held.is_done, json.is_empty()) {
            held.heard.push_str(json);
            said.push(ModelEvent::ToolCallInput { index, json: json.to_owned() });
        }
    }

    /// Takes in a whole item.
    fn end_item(&mut self, at: u64, item: &Value, said: &mut Vec<ModelEvent>) {
        if self.items.entry(at).or_default().is_done {
            return;
        }
        match item["type"].as_str() {
            Some("function_call") => {
                let index = self.begin_call(at, item, said);
                let rest = self.items[&at].rest(item["arguments"].as_str().unwrap_or_default()).to_owned();
                self.go_on_with_call(at, &rest, said);
                // One that was cut off has no end.
                if item["status"].as_str().is_none_or(|status| status == "completed") {
                    said.push(ModelEvent::ToolCallEnd { index });
                }
            }
            Some("message") => {
                let whole = self.spoken(item);
                let rest = self.items[&at].rest(&whole).to_owned();
                self.say(at, &rest, said);
            }
            _ => said.push(ModelEvent::Part { part: self.part(item.clone()) }),
        }
        self.items.entry(at).or_default().is_done = true;
    }

    /// The text of a message, and of what it declines.
    fn spoken(&mut self, message: &Value) -> String {
        let parts = message["content"].as_array().into_iter().flatten();
        let texts = parts.filter_map(|part| {
            let refusal = part["refusal"].as_str();
            self.has_declined |= refusal.is_some();
            refusal.or(part["text"].as_str())
        });
        texts.collect()
    }

    fn part(&self, raw: Value) -> Part {
        let origin = self.origin.clone();
        if raw["type"] != "reasoning" {
            return Part::Native(Native { origin, raw });
        }
        let texts = |member: &str| {
            let parts = raw[member].as_array().into_iter().flatten();
            parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n\n")
        };
        let summary = texts("summary");
        let text = if summary.is_empty() { texts("content") } else { summary };
        Part::Thinking(Thinking { text, origin, raw })
    }

    /// Ends the reply: with items that had not ended, what was used, and why it stopped.
    fn end(&mut self, response: &Value, said: &mut Vec<ModelEvent>) {
        self.begin(response, said);
        for (index, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
            self.end_item(self.places.of_item(item, index), item, said);
        }
        let reason = self.stop_reason(&response["incomplete_details"]["reason"]);
        if !reason.is_cut_off() {
            let open = self.items.values().filter(|item| !item.is_done).filter_map(|item| item.call);
            said.extend(open.map(|index| ModelEvent::ToolCallEnd { index }));
        }
        if response["usage"].is_object() {
            said.push(ModelEvent::Usage(usage(&response["usage"])));
        }
        said.push(ModelEvent::Stop { reason });
        self.is_over = true;
    }

    fn stop_reason(&self, incomplete: &Value) -> StopReason {
        match incomplete.as_str() {
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(other) => StopReason::Other(other.to_owned()),
            None if self.calls > 0 => StopReason::ToolUse,
            None if self.has_declined => StopReason::Refusal,
            None => StopReason::EndTurn,
        }
    }
}

fn usage(usage: &Value) -> Usage {
    let tokens = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    Usage {
        input_tokens: tokens("/input_tokens"),
        output_tokens: tokens("/output_tokens"),
        cache_read_tokens: tokens("/input_tokens_details/cached_tokens"),
        cache_write_tokens: tokens("/input_tokens_details/cache_write_tokens"),
        reasoning_tokens: tokens("/output_tokens_details/reasoning_tokens"),
    }
}

impl ReplyReader for ItemReader {
    fn read(&mut self, event: &SseEvent, said: &mut Vec<ModelEvent>) -> Result<(), Unreadable> {
        // Some servers end this protocol's stream as that of the other.
        if self.is_over || event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let json = json(event)?;
        // An error only where the event is about an item.
        let at = self.places.of_event(&json);
        let delta = json["delta"].as_str().unwrap_or_default();
        match json["type"].as_str().unwrap_or(&event.name) {
            "response.created" | "response.in_progress" => self.begin(&json["response"], said),
            "response.output_item.added" => self.begin_item(at?, &json["item"], said),
            "response.output_text.delta" => self.say(at?, delta, said),
            "response.refusal.delta" => {
                self.has_declined = true;
                self.say(at?, delta, said);
            }
            "response.function_call_arguments.delta" => self.go_on_with_call(at?, delta, said),
            "response.reasoning_summary_part.added" if json["summary_index"].as_u64() > Some(0) => {
                said.push(ModelEvent::ThinkingDelta { text: "\n\n".into() });
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                said.push(ModelEvent::ThinkingDelta { text: delta.to_owned() });
            }
            "response.output_item.done" => self.end_item(at?, &json["item"], said),
            "response.completed" | "response.incomplete" => self.end(&json["response"], said),
            "response.failed" | "error" => return Err(Unreadable::refused(&json)),
            // What has been heard in another way, or something new.
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
