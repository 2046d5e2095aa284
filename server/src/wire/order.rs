//! The order of the members of responses: the one in which clients and readers of LangGraph's API find them.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// The members of a thread.
const THREAD: &[&str] = &[
    "thread_id",
    "created_at",
    "updated_at",
    "state_updated_at",
    "metadata",
    "status",
    "config",
    "values",
    "error",
    "interrupts",
];

/// The members of a run.
const RUN: &[&str] = &[
    "run_id",
    "thread_id",
    "assistant_id",
    "metadata",
    "status",
    "kwargs",
    "multitask_strategy",
    "created_at",
];

/// The members of a state.
const STATE: &[&str] = &[
    "values",
    "next",
    "tasks",
    "metadata",
    "created_at",
    "checkpoint",
    "parent_checkpoint",
    "interrupts",
    "checkpoint_id",
];

/// The names of a checkpoint.
const CHECKPOINT: &[&str] = &["checkpoint_id", "thread_id", "checkpoint_ns", "checkpoint_map"];

/// The configurable values of a run.
const CONFIGURABLE: &[&str] =
    &["checkpoint_ns", "run_id", "thread_id", "graph_id", "assistant_id", "user_id", "checkpoint_id"];

/// The members of all other objects: first those that identify, then those of metadata, checkpoints, schedules, tasks,
/// messages and events.
const OTHER: &[&str] = &[
    "cron_id",
    "graph_id",
    "assistant_id",
    "user_id",
    "checkpoint_map",
    "created_by",
    "run_id",
    "thread_id",
    "langgraph_step",
    "langgraph_node",
    "langgraph_triggers",
    "langgraph_path",
    "langgraph_checkpoint_ns",
    "checkpoint_ns",
    "source",
    "step",
    "config",
    "parent_config",
    "values",
    "next",
    "tasks",
    "event",
    "content",
    "type",
    "id",
    "name",
    "path",
    "error",
    "interrupts",
    "checkpoint",
    "state",
];

/// Returns the order of the members of an object that is the member `name` of another one, or in a list there.
fn order_of(name: &str, object: &Map<String, Value>) -> &'static [&'static str] {
    match name {
        "configurable" => CONFIGURABLE,
        "checkpoint" | "parent_checkpoint" => CHECKPOINT,
        _ if object.contains_key("parent_checkpoint") => STATE,
        _ if object.contains_key("state_updated_at") => THREAD,
        _ if object.contains_key("kwargs") => RUN,
        _ => OTHER,
    }
}

/// Returns a response as JSON text. Members without a place in the order follow by name.
pub(crate) fn text(value: &Value) -> String {
    serde_json::to_string(&Ordered { name: "", value }).expect("a JSON value has a text")
}

struct Ordered<'v> {
    name: &'v str,
    value: &'v Value,
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Array(items) => {
                to.collect_seq(items.iter().map(|value| Ordered { name: self.name, value }))
            }
            Value::Object(object) => {
                let order = order_of(self.name, object);
                let place = |name: &str| order.iter().position(|known| *known == name).unwrap_or(order.len());
                let mut members: Vec<_> =
                    object.iter().map(|(name, value)| (place(name), name, value)).collect();
                members.sort_by_key(|(place, ..)| *place);
                let mut map = to.serialize_map(Some(members.len()))?;
                for (_, name, value) in members {
                    map.serialize_entry(name, &Ordered { name, value })?;
                }
                map.end()
            }
            plain => plain.serialize(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_identifies_an_object_comes_first_and_unknown_members_follow_by_name() {
        let metadata = json!({ "z": 1, "b": 2, "thread_id": "t", "run_id": "r", "assistant_id": "a" });
        let expected = r#"{"assistant_id":"a","run_id":"r","thread_id":"t","b":2,"z":1}"#;
        assert_eq!(text(&metadata), expected);
        let run = json!({ "kwargs": { "b": 1, "a": [] }, "assistant_id": "a", "run_id": "r" });
        assert_eq!(text(&run), r#"{"run_id":"r","assistant_id":"a","kwargs":{"a":[],"b":1}}"#);
    }

    #[test]
    fn the_order_changes_no_value() {
        let state = json!({
            "tasks": [{ "result": { "configurable": null }, "id": "t" }], "values": { "id": 1, "\"": "\n" },
            "parent_checkpoint": { "checkpoint_id": "c", "checkpoint_map": { "": "d" } }, "next": [1.5, true],
        });
        assert_eq!(serde_json::from_str::<Value>(&text(&state)).unwrap(), state);
    }
}
