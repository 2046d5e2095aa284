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

/// The same without what OpenAI refuses: lists that do not say what is in them, objects that say nothing of their
/// members, and forms at the top.
pub(super) fn complete(schema: &Value) -> Value {
    let mut schema = one_object(schema);
    if let Some(top) = schema.as_object_mut() {
        top.remove("enum");
        top.remove("not");
    }
    fill_in(&mut schema);
    schema
}

fn fill_in(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    if is(schema, "array") && !schema.contains_key("items") {
        schema.insert("items".into(), Map::new().into());
    }
    if is(schema, "object") && !schema.get("additionalProperties").is_some_and(|more| *more != false) {
        schema.entry("properties").or_insert_with(|| Map::new().into());
    }
    for (keyword, inner) in schema.iter_mut() {
        match (keyword.as_str(), inner) {
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
                named.values_mut().for_each(fill_in);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(listed)) => {
                listed.iter_mut().for_each(fill_in);
            }
            ("items" | "additionalProperties" | "not" | "contains", inner) => fill_in(inner),
            _ => {}
        }
    }
}

/// Returns `true` if a value may be of this type.
fn is(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(held)) => held == kind,
        Some(Value::Array(held)) => held.iter().any(|held| held == kind),
        _ => false,
    }
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
    fn what_a_schema_does_not_say_is_said_at_every_depth() {
        let loose = json!({
            "properties": { "list": { "type": "array" }, "any": { "type": ["object", "null"] } },
            "$defs": { "deep": { "type": "array", "items": { "type": "object" } } },
            "oneOf": [{ "properties": { "form": { "anyOf": [{ "type": "array" }] } } }],
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "list": { "type": "array", "items": {} },
                "any": { "type": ["object", "null"], "properties": {} },
                "form": { "anyOf": [{ "type": "array", "items": {} }] },
            },
            "$defs": { "deep": { "type": "array", "items": { "type": "object", "properties": {} } } },
        });
        assert_eq!(complete(&loose), expected);
        let open = json!({ "type": "object", "additionalProperties": true });
        assert_eq!(complete(&open), open);
    }

    #[test]
    fn what_is_no_schema_of_an_object_is_one_of_any() {
        assert_eq!(one_object(&Value::Null), json!({ "type": "object" }));
    }
}
