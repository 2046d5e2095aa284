//! States and updates, with their messages in the form of clients.

use serde_json::{Map, Value, json};
use superstep_core::state::{FieldSchema, Schema};

use super::{ids, message};

/// Returns a value of a state with all messages in it in the form of clients.
pub(crate) fn outgoing(value: &Value) -> Value {
    if let Some(message) = message::outgoing(value) {
        return message;
    }
    match value {
        Value::Array(items) => items.iter().map(outgoing).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), outgoing(value))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Returns the operand of a write as the value that a node would have returned: the rows of a keyed log become its
/// items.
pub(crate) fn written(operand: &Value) -> Value {
    match operand.as_array().map(|rows| rows.iter().map(item).collect::<Option<Vec<_>>>()) {
        Some(Some(items)) if !items.is_empty() => outgoing(&items.into()),
        _ => outgoing(operand),
    }
}

/// Returns the item of a row of a keyed log: `{id, item}`, or `{id}` for a removal.
fn item(row: &Value) -> Option<Value> {
    let row = row.as_object()?;
    let id = row.get("id")?.as_str()?;
    match (row.len(), row.get("item")) {
        (2, Some(item)) => Some(item.clone()),
        (1, None) => Some(json!({ "type": "remove", "id": id, "content": "" })),
        _ => None,
    }
}

/// Returns the writes of a task as an update: a member for each field. Later writes to a field are added to earlier
/// ones where both are lists, and replace them otherwise.
pub(crate) fn update<'w>(writes: impl IntoIterator<Item = (&'w str, Value)>) -> Map<String, Value> {
    let mut update = Map::new();
    for (field, operand) in writes {
        let value = written(&operand);
        match (update.get_mut(field), value) {
            (Some(Value::Array(earlier)), Value::Array(later)) => earlier.extend(later),
            (_, value) => drop(update.insert(field.to_owned(), value)),
        }
    }
    update
}

/// Returns an input or an update of a client in the form of states.
///
/// Messages without an id get one that follows from `seed` and their position, so that a repeated attempt of a run has
/// the same ids. A single message for a field that holds a list becomes a list.
pub(crate) fn incoming(input: &Value, schema: &Schema, seed: &str) -> Value {
    let Some(members) = input.as_object() else { return read(input, seed, &mut 0) };
    let mut next = 0;
    let read = members.iter().map(|(name, value)| {
        let field = schema.fields.iter().find(|field| field.name == *name);
        let value = read(value, seed, &mut next);
        let single = field.is_some_and(holds_list) && value.is_object() && is_message(&value);
        (name.clone(), if single { json!([value]) } else { value })
    });
    read.collect::<Map<_, _>>().into()
}

fn read(value: &Value, seed: &str, next: &mut usize) -> Value {
    let new_id = || {
        *next += 1;
        ids::derived(&[seed, &next.to_string()])
    };
    if let Some(message) = message::incoming(value, new_id) {
        return message;
    }
    match value {
        Value::Array(items) => items.iter().map(|item| read(item, seed, next)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), read(value, seed, next)));
            members.collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn is_message(value: &Value) -> bool {
    message::outgoing(value).is_some()
}

/// Returns `true` for a field whose reducer adds items to a list.
fn holds_list(field: &FieldSchema) -> bool {
    let reducer = field.reducer.rsplit("::").next().unwrap_or_default().trim();
    ["KeyedLog", "Append", "keyed", "keyed_log", "append"].contains(&reducer)
}

#[cfg(test)]
mod tests {
    use superstep_core::state::{Lifetime, Writers};

    use super::*;

    fn schema() -> Schema {
        let field = |name: &str, reducer: &str| FieldSchema {
            name: name.into(),
            aliases: Vec::new(),
            rust_type: "Value".into(),
            reducer: reducer.into(),
            writers: Writers::Many,
            lifetime: Lifetime::Stored,
            secret: false,
        };
        serde_json::from_value(json!({
            "name": "State",
            "fields": [field("messages", "reducer::KeyedLog"), field("last", "LastValue")],
        }))
        .unwrap()
    }

    #[test]
    fn a_single_message_becomes_a_list_where_the_field_holds_one() {
        let hi = json!({ "role": "user", "content": "hi" });
        let read = incoming(&json!({ "messages": hi, "last": hi }), &schema(), "run");
        assert_eq!(read["messages"][0]["type"], "human");
        assert_eq!(read["last"]["type"], "human");
    }

    #[test]
    fn ids_of_new_messages_follow_from_the_run_and_the_position() {
        let input =
            json!({ "messages": [{ "role": "user", "content": "a" }, { "role": "user", "content": "b" }] });
        let first = incoming(&input, &schema(), "run 1");
        assert_eq!(first, incoming(&input, &schema(), "run 1"));
        let id = |read: &Value, at: usize| read["messages"][at]["id"].clone();
        assert_ne!(id(&first, 0), id(&first, 1));
        assert_ne!(id(&first, 0), id(&incoming(&input, &schema(), "run 2"), 0));
    }

    #[test]
    fn rows_of_a_keyed_log_become_the_messages_that_were_written() {
        let rows =
            json!([{ "id": "m1", "item": { "type": "human", "id": "m1", "content": "hi" } }, { "id": "m0" }]);
        let update = update([("messages", rows), ("log", json!(["a"])), ("log", json!(["b"]))]);
        assert_eq!(update["messages"][0]["type"], "human");
        assert_eq!(update["messages"][1], json!({ "type": "remove", "id": "m0", "content": "" }));
        assert_eq!(update["log"], json!(["a", "b"]));
    }
}
