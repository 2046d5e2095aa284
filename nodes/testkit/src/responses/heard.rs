//! The items that a stream of events tells.

use serde_json::Value;

use crate::request_value::string_of;

/// The items of a stream that came to their end, and the id of the response.
pub(crate) fn heard(events: &[Value]) -> (Vec<Value>, String) {
    let done = events.iter().filter(|event| string_of(event, "type") == "response.output_item.done");
    let items = done.filter_map(|event| event.get("item").cloned()).collect();
    let response = events.iter().find_map(|event| event.get("response"));
    (items, response.map(|response| string_of(response, "id").to_owned()).unwrap_or_default())
}
