//! The responses that were sent, to see whether what of them comes back is as it was.

use std::collections::BTreeMap;

use serde_json::Value;

use super::pairing::{unanswered, unasked};
use crate::HttpError;
use crate::request_value::string_of;

/// The parts of the answers so far that later requests must send back unchanged.
#[derive(Default)]
pub(crate) struct Memory {
    /// Reasoning, by its id.
    reasoning: BTreeMap<String, Value>,
    /// The ids of the reasoning that items came of, by the items' ids.
    reasons: BTreeMap<String, String>,
    /// The ids of the calls of each response, by the response's id.
    calls: BTreeMap<String, Vec<String>>,
}

impl Memory {
    /// Keeps what matters of the items of a response.
    pub(crate) fn learn(&mut self, response_id: &str, output: &[Value]) {
        let mut reason = None;
        let mut calls = Vec::new();
        for item in output {
            let id = string_of(item, "id").to_owned();
            match string_of(item, "type") {
                "reasoning" => {
                    self.reasoning.insert(id.clone(), item.clone());
                    reason = Some(id);
                    continue;
                }
                "function_call" => calls.push(string_of(item, "call_id").to_owned()),
                _ => {}
            }
            if let Some(reason) = reason.take() {
                self.reasons.insert(id, reason);
            }
        }
        self.calls.insert(response_id.to_owned(), calls);
    }

    /// Checks that reasoning in a request is what was sent and where it was, and that what follows an earlier
    /// response answers the calls of that.
    pub(crate) fn check(&self, body: &Value) -> Result<(), HttpError> {
        let items = body.get("input").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (index, item) in items.iter().enumerate() {
            let id = string_of(item, "id");
            if string_of(item, "type") == "reasoning" {
                self.check_reasoning(item, id)?;
            }
            let before = index.checked_sub(1).map_or("", |before| string_of(&items[before], "id"));
            if let Some(reason) = self.reasons.get(id).filter(|reason| *reason != before) {
                let kind = string_of(item, "type");
                return Err(HttpError::invalid(format!(
                    "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{reason}'."
                ))
                .at("input"));
            }
        }
        match body.get("previous_response_id").and_then(Value::as_str) {
            Some(previous) => self.check_continued(previous, items),
            None => Ok(()),
        }
    }

    fn check_reasoning(&self, item: &Value, id: &str) -> Result<(), HttpError> {
        let sealed = item.get("encrypted_content").filter(|sealed| !sealed.is_null());
        let has_seal = |sent: &&Value| sent.get("encrypted_content") == sealed;
        let sent = match id {
            // An item without its id is known by its seal.
            "" => self.reasoning.values().find(|sent| sealed.is_some() && has_seal(sent)),
            id => self.reasoning.get(id).filter(|sent| sealed.is_none() || has_seal(sent)),
        };
        if sent.is_some_and(|sent| sent.get("summary") == item.get("summary")) {
            return Ok(());
        }
        Err(HttpError::invalid(format!(
            "The encrypted content for item {id} could not be verified. Reason: Encrypted content could not be \
             decrypted or parsed."
        ))
        .coded("invalid_encrypted_content"))
    }

    fn check_continued(&self, previous: &str, items: &[Value]) -> Result<(), HttpError> {
        let Some(calls) = self.calls.get(previous) else {
            return Err(HttpError::invalid(format!("Previous response with id '{previous}' not found."))
                .at("previous_response_id")
                .coded("previous_response_not_found"));
        };
        let of = |kind: &'static str| {
            items
                .iter()
                .filter(move |item| string_of(item, "type") == kind)
                .map(|item| string_of(item, "call_id"))
        };
        if let Some(call) =
            calls.iter().find(|call| !of("function_call_output").any(|output| output == *call))
        {
            return Err(unanswered(call));
        }
        let is_asked = |output: &str| calls.iter().any(|call| call == output);
        let orphan = of("function_call_output")
            .find(|output| !is_asked(output) && !of("function_call").any(|call| call == *output));
        orphan.map_or(Ok(()), |output| Err(unasked(output)))
    }
}

/// The items of a stream that came to their end, and the id of the response.
pub(crate) fn heard(events: &[Value]) -> (Vec<Value>, String) {
    let done = events.iter().filter(|event| string_of(event, "type") == "response.output_item.done");
    let items = done.filter_map(|event| event.get("item").cloned()).collect();
    let response = events.iter().find_map(|event| event.get("response"));
    (items, response.map(|response| string_of(response, "id").to_owned()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sent() -> Vec<Value> {
        vec![
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}),
            json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"}),
        ]
    }

    fn after(items: Value) -> Result<(), HttpError> {
        let mut memory = Memory::default();
        memory.learn("resp_1", &sent());
        memory.check(&json!({"input": items}))
    }

    #[test]
    fn items_that_come_back_as_they_were_are_taken() {
        assert_eq!(after(json!(sent())), Ok(()));
    }

    #[test]
    fn reasoning_that_was_never_sent_or_was_edited_is_refused() {
        for (key, other) in
            [("id", json!("rs_2")), ("encrypted_content", json!("y")), ("summary", json!([1]))]
        {
            let mut items = sent();
            items[0][key] = other;
            assert_eq!(after(json!(items)).unwrap_err().code(), Some("invalid_encrypted_content"), "{key}");
        }
    }

    #[test]
    fn reasoning_may_come_back_without_its_id() {
        let mut items = sent();
        for item in &mut items {
            item.as_object_mut().unwrap().remove("id");
        }
        assert_eq!(after(json!(items)), Ok(()));
    }

    #[test]
    fn a_call_with_an_id_needs_its_reasoning_before_it() {
        let mut items = sent();
        items.remove(0);
        assert_eq!(
            after(json!(items)).unwrap_err().message(),
            "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."
        );
        items[0].as_object_mut().unwrap().remove("id");
        assert_eq!(after(json!(items)), Ok(()));
    }

    #[test]
    fn what_follows_a_response_answers_its_calls() {
        let mut memory = Memory::default();
        memory.learn("resp_1", &sent());
        let request = |previous: &str, output: &str| {
            json!({
                "previous_response_id": previous,
                "input": [{"type": "function_call_output", "call_id": output, "output": "1"}],
            })
        };
        assert_eq!(memory.check(&request("resp_1", "c1")), Ok(()));
        let said = |request: &Value| memory.check(request).unwrap_err().message().to_owned();
        assert_eq!(said(&request("resp_2", "c1")), "Previous response with id 'resp_2' not found.");
        assert_eq!(said(&request("resp_1", "c2")), "No tool output found for function call c1.");
        let mut both = request("resp_1", "c1");
        both["input"]
            .as_array_mut()
            .unwrap()
            .push(json!({"type": "function_call_output", "call_id": "c2", "output": "1"}));
        assert_eq!(said(&both), "No tool call found for function call output with call_id c2.");
    }
}
