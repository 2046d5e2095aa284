//! The thinking that was sent, to see whether it comes back as it was.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::HttpError;

/// The parts of the answers so far that later requests must send back unchanged.
#[derive(Default)]
pub(crate) struct Memory {
    /// The texts of thinking, by their signatures.
    thinking: BTreeMap<String, String>,
    redacted: BTreeSet<String>,
    /// The relevant blocks of each turn with thinking.
    turns: Vec<Vec<Part>>,
}

/// A block of a turn that matters for the order of its thinking.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Thinking(String),
    Redacted(String),
    Call(String),
}

impl Part {
    fn of(block: &Value) -> Option<Self> {
        let text = |key| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match block.get("type")?.as_str()? {
            "thinking" => Some(Self::Thinking(text("signature"))),
            "redacted_thinking" => Some(Self::Redacted(text("data"))),
            "tool_use" => Some(Self::Call(text("id"))),
            _ => None,
        }
    }

    fn is_call(&self) -> bool {
        matches!(self, Self::Call(_))
    }
}

impl Memory {
    /// Keeps what matters of the content of an answer.
    pub(crate) fn learn(&mut self, content: &[Value]) {
        let turn: Vec<Part> = content.iter().filter_map(Part::of).collect();
        for (block, part) in content.iter().filter_map(|block| Some((block, Part::of(block)?))) {
            match part {
                Part::Thinking(signature) => {
                    let text = block.get("thinking").and_then(Value::as_str).unwrap_or_default();
                    self.thinking.insert(signature, text.to_owned());
                }
                Part::Redacted(data) => {
                    self.redacted.insert(data);
                }
                Part::Call(_) => {}
            }
        }
        self.turns.push(turn);
    }

    /// Checks that the thinking in a request is what was sent.
    ///
    /// Blocks that are sent back must be known, wherever they stand. In the turn that is still going on none
    /// may be missing or stand elsewhere, as long as the request asks for thinking.
    pub(crate) fn check(&self, body: &Value) -> Result<(), HttpError> {
        let messages = body.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let begins = messages.iter().rposition(begins_turn).unwrap_or(0);
        for (index, message) in messages.iter().enumerate() {
            if message.get("role").is_none_or(|role| role != "assistant") {
                continue;
            }
            let content = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let is_latest = index + 2 >= messages.len();
            for (at, block) in content.iter().enumerate() {
                self.check_block(block, is_latest, &format!("messages.{index}.content.{at}"))?;
            }
            if index > begins && asks_for_thinking(body) {
                self.check_order(content, index)?;
            }
        }
        Ok(())
    }

    fn check_block(&self, block: &Value, is_latest: bool, path: &str) -> Result<(), HttpError> {
        match Part::of(block) {
            Some(Part::Thinking(signature)) => match self.thinking.get(&signature) {
                Some(sent) if block.get("thinking").is_some_and(|text| text == sent) => Ok(()),
                Some(_) if is_latest => Err(modified(path)),
                _ => Err(HttpError::invalid(format!("{path}: Invalid `signature` in `thinking` block"))),
            },
            Some(Part::Redacted(data)) if !self.redacted.contains(&data) => {
                Err(HttpError::invalid(format!("{path}: Invalid `data` in `redacted_thinking` block")))
            }
            _ => Ok(()),
        }
    }

    /// Checks the order of a message that was sent. Calls may have been left out of it.
    fn check_order(&self, content: &[Value], index: usize) -> Result<(), HttpError> {
        let now: Vec<Part> = content.iter().filter_map(Part::of).collect();
        let sent = self.turns.iter().rev().find(|turn| turn.iter().any(|part| now.contains(part)));
        let Some(sent) = sent else {
            return Ok(());
        };
        let kept: Vec<&Part> = sent.iter().filter(|part| !part.is_call() || now.contains(part)).collect();
        let wrong = kept.iter().zip(&now).position(|(sent, now)| *sent != now);
        let wrong = wrong.or((kept.len() != now.len()).then_some(kept.len().min(now.len())));
        wrong.map_or(Ok(()), |at| Err(modified(&format!("messages.{index}.content.{at}"))))
    }
}

/// Returns `true` if a message begins a turn: it is one of the user, rather than the results of tools.
fn begins_turn(message: &Value) -> bool {
    let is_result = |block: &Value| block.get("type").is_some_and(|kind| kind == "tool_result");
    let content = message.get("content").and_then(Value::as_array);
    message.get("role").is_some_and(|role| role == "user")
        && !content.is_some_and(|blocks| blocks.iter().any(is_result))
}

fn asks_for_thinking(body: &Value) -> bool {
    body.pointer("/thinking/type").is_some_and(|kind| kind != "disabled")
}

fn modified(path: &str) -> HttpError {
    HttpError::invalid(format!(
        "{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These \
         blocks must remain as they were in the original response."
    ))
}

/// The blocks of a stream, with what counts of thinking; the inputs of calls are left out.
pub(crate) fn heard(events: &[Value]) -> Vec<Value> {
    let mut blocks: BTreeMap<u64, Value> = BTreeMap::new();
    for event in events {
        let Some(index) = event.get("index").and_then(Value::as_u64) else {
            continue;
        };
        if let Some(block) = event.get("content_block") {
            blocks.insert(index, block.clone());
            continue;
        }
        let (Some(block), Some(delta)) = (blocks.get_mut(&index), event.get("delta")) else {
            continue;
        };
        for key in ["thinking", "signature"] {
            if let Some(more) = delta.get(key).and_then(Value::as_str) {
                let text = block.get(key).and_then(Value::as_str).unwrap_or_default();
                block[key] = json!(format!("{text}{more}"));
            }
        }
    }
    blocks.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sent() -> Vec<Value> {
        vec![
            json!({"type": "thinking", "thinking": "Hm.", "signature": "s1"}),
            json!({"type": "redacted_thinking", "data": "r1"}),
            json!({"type": "text", "text": "Let me look."}),
            json!({"type": "tool_use", "id": "a", "name": "look", "input": {}}),
        ]
    }

    fn after(content: Value) -> Result<(), HttpError> {
        let mut memory = Memory::default();
        memory.learn(&sent());
        memory.check(&json!({
            "thinking": {"type": "adaptive"},
            "messages": [
                {"role": "user", "content": "?"},
                {"role": "assistant", "content": content},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "it"}]},
            ],
        }))
    }

    fn said(content: Value) -> String {
        after(content).unwrap_err().message().to_owned()
    }

    #[test]
    fn thinking_that_comes_back_as_it_was_is_taken() {
        assert_eq!(after(json!(sent())), Ok(()));
    }

    #[test]
    fn a_text_of_the_turn_may_be_left_out() {
        let mut content = sent();
        content.remove(2);
        assert_eq!(after(json!(content)), Ok(()));
    }

    #[test]
    fn edited_thinking_is_refused() {
        let mut content = sent();
        content[0]["thinking"] = json!("Hm!");
        assert!(
            said(json!(content))
                .starts_with("messages.1.content.0: `thinking` or `redacted_thinking` blocks")
        );
    }

    #[test]
    fn thinking_that_was_never_sent_is_refused() {
        let mut content = sent();
        content[0]["signature"] = json!("s2");
        assert_eq!(said(json!(content)), "messages.1.content.0: Invalid `signature` in `thinking` block");
        let mut content = sent();
        content[1]["data"] = json!("r2");
        assert_eq!(said(json!(content)), "messages.1.content.1: Invalid `data` in `redacted_thinking` block");
    }

    #[test]
    fn thinking_in_another_order_or_without_a_part_is_refused() {
        let mut content = sent();
        content.swap(0, 1);
        assert!(said(json!(content)).starts_with("messages.1.content.0: `thinking` or"));
        let mut content = sent();
        content.remove(1);
        assert!(said(json!(content)).starts_with("messages.1.content.1: `thinking` or"));
        assert!(said(json!(sent()[3..])).starts_with("messages.1.content.0: `thinking` or"));
    }

    #[test]
    fn turns_that_are_over_may_come_without_their_thinking() {
        let mut memory = Memory::default();
        memory.learn(&sent());
        let history = json!({
            "thinking": {"type": "adaptive"},
            "messages": [
                {"role": "user", "content": "?"},
                {"role": "assistant", "content": sent()[3..]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "it"}]},
                {"role": "assistant", "content": "It."},
                {"role": "user", "content": "And now?"},
            ],
        });
        assert_eq!(memory.check(&history), Ok(()));
    }
}
