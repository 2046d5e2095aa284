//! JSON Schemas in the forms that providers hold a model to.

use serde_json::{Map, Value};

/// The schema with every object closed: it has no members but those it lists. `None` where an object has members of any
/// name.
///
/// Parts of a schema that providers do not know, such as the range of a number, are left out: the caller checks the
/// value anyway.
pub(super) fn closed(schema: &Value) -> Option<Value> {
    let closed = close(schema);
    is_closed(&closed).then_some(closed)
}

fn is_closed(schema: &Value) -> bool {
    match schema {
        Value::Array(schemas) => schemas.iter().all(is_closed),
        Value::Object(members) => {
            let is_open = is_of(members, "object") && !members.contains_key("properties");
            !is_open
                && members.iter().all(|(name, value)| match (name.as_str(), value) {
                    ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                        named.values().all(is_closed)
                    }
                    ("items" | "anyOf" | "allOf" | "prefixItems", inner) => is_closed(inner),
                    _ => true,
                })
        }
        _ => true,
    }
}

/// Returns true if a schema has a type, alone or among others.
fn is_of(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

fn close(schema: &Value) -> Value {
    let Value::Object(members) = schema else {
        return schema.clone();
    };
    let mut closed = Map::new();
    for (name, value) in members {
        let value = match (name.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                named.iter().map(|(name, schema)| (name.clone(), close(schema))).collect()
            }
            ("items", schema) => close(schema),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter().map(close).collect()
            }
            (name, _) if is_left_out(name) => continue,
            (_, value) => value.clone(),
        };
        // Providers know `anyOf`; where exactly one fits, any one does.
        closed.insert(if name == "oneOf" { "anyOf".into() } else { name.clone() }, value);
    }
    if closed.contains_key("properties") {
        closed.insert("additionalProperties".into(), false.into());
    }
    closed.into()
}

/// The schema closed and with every member required; `None` where that would change what it means, or where it says
/// what this form has no words for.
///
/// A member that may be absent and may not be `null` cannot be required, for one, and an object with members of any
/// name cannot be closed.
pub(super) fn strict(schema: &Value) -> Option<Value> {
    let mut strict = closed(schema)?;
    let root = strict["type"] == "object" && strict.get("anyOf").is_none();
    (root && make_strict(&mut strict)).then_some(strict)
}

/// Makes a closed schema strict; says whether that is possible.
fn make_strict(schema: &mut Value) -> bool {
    let Value::Object(members) = schema else {
        return false;
    };
    if members.contains_key("$ref") {
        // What stands beside a reference may only be for people.
        members.remove("description");
        return members.len() == 1;
    }
    if !members.keys().all(|name| is_strict_word(name)) {
        return false;
    }
    let says_what = ["type", "enum", "const", "anyOf"].iter().any(|word| members.contains_key(*word));
    let is_any_list = is_of(members, "array") && !members.contains_key("items");
    if !says_what || is_any_list || !require_all(members) {
        return false;
    }
    members.iter_mut().all(|(name, value)| match (name.as_str(), value) {
        ("properties" | "$defs" | "definitions", Value::Object(named)) => named.values_mut().all(make_strict),
        ("items", schema) => make_strict(schema),
        ("anyOf", Value::Array(schemas)) => schemas.iter_mut().all(make_strict),
        _ => true,
    })
}

/// Requires all members of an object; says whether none of them may be absent without being `null`.
fn require_all(schema: &mut Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return true;
    };
    let is_required = |name: &str| required.iter().any(|it| it == name);
    if properties.iter().any(|(name, schema)| !is_required(name) && !takes_null(schema)) {
        return false;
    }
    let names: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
    schema.insert("required".into(), names.into());
    true
}

fn takes_null(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(kind) => kind == "null",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "null"),
        _ => schema["anyOf"].as_array().is_some_and(|any| any.iter().any(takes_null)),
    }
}

fn is_strict_word(name: &str) -> bool {
    matches!(
        name,
        "type"
            | "description"
            | "properties"
            | "required"
            | "additionalProperties"
            | "items"
            | "enum"
            | "const"
            | "anyOf"
            | "$defs"
            | "definitions"
    )
}

fn is_left_out(name: &str) -> bool {
    matches!(
        name,
        "$schema"
            | "title"
            | "default"
            | "examples"
            | "format"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "minLength"
            | "maxLength"
            | "pattern"
            | "minItems"
            | "maxItems"
            | "uniqueItems"
            | "minProperties"
            | "maxProperties"
            | "additionalProperties"
    )
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, schema_for};
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Judgement {
        #[schemars(range(min = 0.0, max = 1.0))]
        score: f64,
        reason: Option<String>,
        parts: Vec<Part>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Part {
        name: String,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Ranked {
        #[serde(default)]
        rank: u32,
    }

    #[test]
    fn a_closed_schema_lists_all_members_and_no_bounds() {
        let closed = closed(&schema_for!(Judgement).into()).unwrap();
        assert_eq!(closed["additionalProperties"], false);
        assert_eq!(closed["$defs"]["Part"]["additionalProperties"], false);
        assert_eq!(closed["required"], json!(["score", "parts"]));
        assert_eq!(closed["properties"]["score"], json!({ "type": "number" }));
    }

    #[test]
    fn an_object_with_members_of_any_name_cannot_be_closed() {
        let map = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        let within = json!({ "type": "object", "properties": { "a": { "type": "array", "items": map } } });
        assert_eq!((closed(&map), closed(&within)), (None, None));
    }

    #[test]
    fn a_strict_schema_requires_all_members() {
        let strict = strict(&schema_for!(Judgement).into()).unwrap();
        assert_eq!(strict["required"], json!(["parts", "reason", "score"]));
        assert_eq!(strict["properties"]["reason"]["type"], json!(["string", "null"]));
        assert_eq!(super::strict(&strict), Some(strict));
    }

    #[test]
    fn what_a_judge_is_asked_for_has_a_strict_schema() {
        let schema = schema_for!(superstep_nodes::verification::Judgement);
        assert!(strict(&schema.into()).is_some());
    }

    #[test]
    fn a_member_that_may_be_absent_and_not_null_cannot_be_required() {
        assert_eq!(strict(&schema_for!(Ranked).into()), None);
    }

    #[test]
    fn a_schema_that_says_more_than_the_strict_form_can_is_not_strict() {
        let with =
            |member: Value| json!({ "type": "object", "properties": { "a": member }, "required": ["a"] });
        assert!(strict(&with(json!({ "type": "string" }))).is_some());
        for member in [
            json!(true),
            json!({}),
            json!({ "type": "array" }),
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            json!({ "type": "object", "properties": {}, "patternProperties": {} }),
            json!({ "not": { "type": "string" } }),
            json!({ "allOf": [{ "type": "string" }] }),
        ] {
            assert_eq!(strict(&with(member.clone())), None, "{member}");
        }
        for root in [json!({ "type": "string" }), json!({ "anyOf": [] }), json!(true)] {
            assert_eq!(strict(&root), None, "{root}");
        }
    }

    #[test]
    fn a_reference_stands_alone_and_members_may_have_the_names_of_keywords() {
        let schema = json!({
            "type": "object",
            "properties": {
                "properties": { "$ref": "#/$defs/A", "description": "An A." },
                "required": { "type": "string" },
            },
            "required": ["properties", "required"],
            "$defs": { "A": { "type": "string", "enum": ["x"] } },
        });
        let strict = strict(&schema).unwrap();
        assert_eq!(strict["properties"]["properties"], json!({ "$ref": "#/$defs/A" }));
        assert_eq!(strict["properties"]["required"], json!({ "type": "string" }));
    }
}
