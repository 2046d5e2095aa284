//! Every call has its output, every output its call, and reasoning stands before what came of it.

use super::items::kind;
use crate::HttpError;
use crate::request_value::{RequestValue, string_of};

/// Checks the items against each other. What follows an earlier response may have outputs of its calls.
pub(super) fn check(items: &[RequestValue<'_>], continues: bool) -> Result<(), HttpError> {
    let calls = call_ids(items, "function_call");
    let outputs = call_ids(items, "function_call_output");
    if let Some((_, id)) = calls.iter().find(|(at, id)| !outputs.iter().any(|(out, of)| of == id && out > at))
    {
        return Err(unanswered(id));
    }
    for (index, (at, id)) in outputs.iter().enumerate() {
        let is_asked = calls.iter().any(|(call, of)| of == id && call < at);
        if !is_asked && !continues || outputs[..index].iter().any(|(_, before)| before == id) {
            return Err(unasked(id));
        }
    }
    for (index, item) in items.iter().enumerate() {
        let next = items[index + 1..].iter().find(|item| kind(item) != Some("reasoning"));
        if kind(item) == Some("reasoning") && !next.is_some_and(is_of_model) {
            let id = string_of(item.value(), "id");
            return Err(HttpError::invalid(format!(
                "Item '{id}' of type 'reasoning' was provided without its required following item."
            ))
            .at("input"));
        }
    }
    Ok(())
}

pub(super) fn unanswered(id: &str) -> HttpError {
    HttpError::invalid(format!("No tool output found for function call {id}.")).at("input")
}

pub(super) fn unasked(id: &str) -> HttpError {
    HttpError::invalid(format!("No tool call found for function call output with call_id {id}.")).at("input")
}

/// The ids of the calls that items of a type speak of, each with the item's index.
fn call_ids<'a>(items: &[RequestValue<'a>], wanted: &str) -> Vec<(usize, &'a str)> {
    let found = items.iter().enumerate().filter(|(_, item)| kind(item) == Some(wanted));
    found.map(|(index, item)| (index, string_of(item.value(), "call_id"))).collect()
}

/// Returns `true` if an item is an output of the model.
fn is_of_model(item: &RequestValue<'_>) -> bool {
    match kind(item) {
        Some("message") => string_of(item.value(), "role") == "assistant",
        Some(kind) => kind.ends_with("_call") || kind == "item_reference",
        None => false,
    }
}
