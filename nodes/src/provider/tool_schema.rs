//! JSON Schemas of what tools take, in the form that all providers take.

use serde_json::{Map, Value};

/// The schema of a tool's input as one object. Several forms of it are put together to one that has the members of all;
/// which of them go together is checked before the tool runs.
pub(super) fn one_object(schema: &Value) -> Value {
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.insert("type".into(), "object".into());
    for several in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(forms)) = object.remove(several) else {
            continue;
        };
        let properties = object.entry("properties").or_insert_with(|| Map::new().into());
        let Value::Object(held) = properties else {
            continue;
        };
        for (name, member) in forms.iter().filter_map(|form| form.get("properties")?.as_object()).flatten() {
            held.entry(name).or_insert_with(|| member.clone());
        }
    }
    object.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_of_an_input_become_one() {
        let form = |name: &str| json!({ "properties": { name: { "type": "string" } }, "required": [name] });
        let one = one_object(&json!({ "oneOf": [form("a"), form("b")] }));
        let text = json!({ "type": "string" });
        assert_eq!(one, json!({ "type": "object", "properties": { "a": text, "b": text } }));
    }

    #[test]
    fn what_is_no_schema_of_an_object_is_one_of_any() {
        assert_eq!(one_object(&Value::Null), json!({ "type": "object" }));
    }
}
