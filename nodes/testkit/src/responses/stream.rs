//! Answers of the Responses API as streams of events.

use serde_json::{Value, json};

use super::render::{begun, items, response, status};
use crate::Quirk;
use crate::said::{Occasion, Said};
use crate::sse::Event;

/// The events of an answer.
pub(crate) fn events(said: &Said, occasion: &Occasion<'_>) -> Vec<Event> {
    let mut stream = Stream::default();
    let begun = begun(said, occasion);
    stream.push("response.created", json!({"response": begun}));
    stream.push("response.in_progress", json!({"response": begun}));
    if said.has(Quirk::UnknownEvents) {
        stream.push("response.novelty", json!({"level": 1}));
    }
    for (index, item) in items(said, occasion).into_iter().enumerate() {
        let mut opened = item.clone();
        match item["type"].as_str() {
            Some("message") => {
                opened["content"] = json!([]);
                stream.item(index, opened, "in_progress");
                stream.message(index, &item, said);
            }
            Some("function_call") => {
                opened["arguments"] = json!("");
                stream.item(index, opened, "in_progress");
                stream.call(index, &item, said);
            }
            _ => {
                opened["summary"] = json!([]);
                opened.as_object_mut().expect("items are objects").remove("encrypted_content");
                stream.push("response.output_item.added", json!({"output_index": index, "item": opened}));
                stream.reasoning(index, &item, said);
            }
        }
        stream.push("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    let end = format!("response.{}", status(&said.stop(), said));
    stream.push(&end, json!({"response": response(said, occasion)}));
    stream.events
}

/// Events that are counted.
#[derive(Default)]
struct Stream {
    events: Vec<Event>,
}

impl Stream {
    fn push(&mut self, kind: &str, mut event: Value) {
        event["type"] = json!(kind);
        event["sequence_number"] = json!(self.events.len());
        self.events.push(Event::typed(event));
    }

    fn item(&mut self, index: usize, mut item: Value, status: &str) {
        item["status"] = json!(status);
        self.push("response.output_item.added", json!({"output_index": index, "item": item}));
    }

    fn message(&mut self, index: usize, item: &Value, said: &Said) {
        let part = &item["content"][0];
        let (member, kind) =
            if part["type"] == "refusal" { ("refusal", "refusal") } else { ("text", "output_text") };
        let text = part[member].as_str().unwrap_or_default();
        let mut opened = part.clone();
        opened[member] = json!("");
        let at = |mut event: Value| {
            event["item_id"] = item["id"].clone();
            event["output_index"] = json!(index);
            event["content_index"] = json!(0);
            event
        };
        self.push("response.content_part.added", at(json!({"part": opened})));
        for piece in said.pieces(text) {
            let mut delta = json!({"delta": piece});
            if kind == "output_text" {
                delta["logprobs"] = json!([]);
            }
            self.push(&format!("response.{kind}.delta"), at(delta));
        }
        self.push(&format!("response.{kind}.done"), at(json!({member: text})));
        self.push("response.content_part.done", at(json!({"part": part})));
    }

    fn call(&mut self, index: usize, item: &Value, said: &Said) {
        let arguments = item["arguments"].as_str().unwrap_or_default();
        for piece in said.pieces(arguments) {
            let delta = json!({"item_id": item["id"], "output_index": index, "delta": piece});
            self.push("response.function_call_arguments.delta", delta);
        }
        let done = json!({
            "item_id": item["id"],
            "output_index": index,
            "name": item["name"],
            "arguments": arguments,
        });
        self.push("response.function_call_arguments.done", done);
    }

    fn reasoning(&mut self, index: usize, item: &Value, said: &Said) {
        let Some(part) = item["summary"].get(0) else {
            return;
        };
        let text = part["text"].as_str().unwrap_or_default();
        let at = |mut event: Value| {
            event["item_id"] = item["id"].clone();
            event["output_index"] = json!(index);
            event["summary_index"] = json!(0);
            event
        };
        let opened = json!({"type": "summary_text", "text": ""});
        self.push("response.reasoning_summary_part.added", at(json!({"part": opened})));
        for piece in said.pieces(text) {
            self.push("response.reasoning_summary_text.delta", at(json!({"delta": piece})));
        }
        self.push("response.reasoning_summary_text.done", at(json!({"text": text})));
        self.push("response.reasoning_summary_part.done", at(json!({"part": part})));
    }
}
