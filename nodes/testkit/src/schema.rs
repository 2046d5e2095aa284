//! The requirements of vendors for JSON Schemas.

use serde_json::{Map, Value};

/// The keywords that OpenAI's strict mode does not permit.
const NOT_PERMITTED: [&str; 11] = [
    "allOf",
    "contains",
    "default",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "not",
    "oneOf",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
];

/// The keywords that Anthropic does not support in schemas that outputs must match, by type.
const NOT_SUPPORTED: [(&str, &[&str]); 3] = [
    ("integer", &["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"]),
    ("number", &["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"]),
    ("string", &["maxLength", "minLength"]),
];

/// Returns the error of OpenAI for the schema of an object, in strict mode or not; `None` if the schema is valid.
pub(super) fn openai_fault(schema: &Value, strict: bool) -> Option<String> {
    let kind = schema.get("type").and_then(Value::as_str);
    if kind != Some("object") {
        let kind = kind.unwrap_or("None");
        return Some(format!("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."));
    }
    let at_the_top =
        ["oneOf", "anyOf", "allOf", "enum", "not"].into_iter().any(|keyword| schema.get(keyword).is_some());
    if !strict && at_the_top {
        let forms = "'oneOf'/'anyOf'/'allOf'/'enum'/'not'";
        return Some(format!("schema must have type 'object' and not have {forms} at the top level."));
    }
    if strict && schema.get("anyOf").is_some() {
        return Some("In context=(), 'anyOf' is not permitted.".to_owned());
    }
    within(schema, &mut Vec::new(), strict)
}

fn within<'a>(schema: &'a Value, context: &mut Vec<&'a str>, strict: bool) -> Option<String> {
    let schema = schema.as_object()?;
    if let Some(fault) = if strict { strict_fault(schema) } else { loose_fault(schema) } {
        return Some(format!("In context=({}), {fault}", path(context)));
    }
    for keyword in ["properties", "$defs", "definitions"] {
        for (name, inner) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            context.extend([keyword, name]);
            let fault = within(inner, context, strict);
            context.truncate(context.len() - 2);
            if fault.is_some() {
                return fault;
            }
        }
    }
    let listed = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    for (keyword, inner) in schema
        .get("items")
        .map(|inner| ("items", inner))
        .into_iter()
        .chain(listed.map(|inner| ("anyOf", inner)))
    {
        context.push(keyword);
        let fault = within(inner, context, strict);
        context.pop();
        if fault.is_some() {
            return fault;
        }
    }
    None
}

fn loose_fault(schema: &Map<String, Value>) -> Option<String> {
    if is(schema, "array") && !schema.contains_key("items") {
        return Some("array schema missing items.".to_owned());
    }
    let is_open = schema.get("additionalProperties").is_some_and(|more| more != false);
    if is(schema, "object") && !schema.contains_key("properties") && !is_open {
        return Some("object schema missing properties.".to_owned());
    }
    None
}

fn strict_fault(schema: &Map<String, Value>) -> Option<String> {
    if let Some(keyword) = NOT_PERMITTED.into_iter().find(|keyword| schema.contains_key(*keyword)) {
        return Some(format!("'{keyword}' is not permitted."));
    }
    if schema.contains_key("$ref")
        && let Some(keyword) = schema.keys().find(|keyword| *keyword != "$ref")
    {
        return Some(format!("$ref cannot have keywords {{'{keyword}'}}."));
    }
    if is(schema, "array") && !schema.contains_key("items") {
        return Some("array schema missing items.".to_owned());
    }
    if !is(schema, "object") {
        return None;
    }
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Some("'additionalProperties' is required to be supplied and to be false.".to_owned());
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let wanted =
        "'required' is required to be supplied and to be an array including every key in properties.";
    if let Some(missing) = properties.and_then(|all| all.keys().find(|key| !required.contains(&key.as_str())))
    {
        return Some(format!("{wanted} Missing '{missing}'."));
    }
    let is_declared = |key: &&str| properties.is_some_and(|all| all.contains_key(*key));
    let extra = required.into_iter().find(|key| !is_declared(key))?;
    Some(format!("{wanted} Extra required key '{extra}' supplied."))
}

/// Returns the error of Anthropic for a schema that an output or a strict tool's input must match; `None` if the schema
/// is valid.
pub(super) fn anthropic_fault(schema: &Value) -> Option<String> {
    let schema = match schema {
        Value::Array(items) => return items.iter().find_map(anthropic_fault),
        Value::Object(schema) => schema,
        _ => return None,
    };
    if is(schema, "object") && schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Some("For 'object' type, 'additionalProperties' must be explicitly set to false".to_owned());
    }
    for (kind, keywords) in NOT_SUPPORTED {
        let found: Vec<&str> =
            keywords.iter().copied().filter(|keyword| schema.contains_key(*keyword)).collect();
        if is(schema, kind) && !found.is_empty() {
            return Some(format!("For '{kind}' type, properties {} are not supported", found.join(", ")));
        }
    }
    let named = ["properties", "$defs", "definitions"].into_iter().filter_map(|keyword| schema.get(keyword));
    let mut inner = named.filter_map(Value::as_object).flat_map(Map::values);
    let mut listed = ["items", "anyOf", "allOf"].into_iter().filter_map(|keyword| schema.get(keyword));
    inner.find_map(anthropic_fault).or_else(|| listed.find_map(anthropic_fault))
}

/// Returns `true` if a schema has a type, alone or among others.
fn is(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

/// A tuple as Python writes it.
fn path(context: &[&str]) -> String {
    let quoted: Vec<String> = context.iter().map(|step| format!("'{step}'")).collect();
    if let [only] = &quoted[..] { format!("{only},") } else { quoted.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn strict(schema: Value) -> String {
        openai_fault(&schema, true).unwrap_or_default()
    }

    fn object(properties: Value, required: Value) -> Value {
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    #[test]
    fn a_closed_schema_that_requires_everything_is_strict() {
        let inner = object(json!({"x": {"type": ["number", "null"]}}), json!(["x"]));
        let schema = object(json!({"a": {"type": "array", "items": inner}}), json!(["a"]));
        assert_eq!(openai_fault(&schema, true), None);
        assert_eq!(anthropic_fault(&schema), None);
    }

    #[test]
    fn strict_objects_are_closed_at_every_depth() {
        let open = json!({"type": "object", "properties": {}});
        assert_eq!(
            strict(open.clone()),
            "In context=(), 'additionalProperties' is required to be supplied and to be false."
        );
        let nested = object(json!({"a": {"type": "array", "items": open}}), json!(["a"]));
        assert_eq!(
            strict(nested),
            "In context=('properties', 'a', 'items'), 'additionalProperties' is required to be supplied and to \
             be false."
        );
    }

    #[test]
    fn strict_objects_require_all_their_properties_and_no_others() {
        let said = "In context=(), 'required' is required to be supplied and to be an array including every key \
                    in properties.";
        let two = json!({"a": {"type": "string"}, "b": {"type": "string"}});
        assert_eq!(strict(object(two.clone(), json!(["a"]))), format!("{said} Missing 'b'."));
        assert_eq!(
            strict(object(two, json!(["a", "b", "c"]))),
            format!("{said} Extra required key 'c' supplied.")
        );
    }

    #[test]
    fn strict_schemas_do_without_some_keywords() {
        let one_of = object(json!({"a": {"oneOf": [{"type": "string"}]}}), json!(["a"]));
        assert_eq!(strict(one_of), "In context=('properties', 'a'), 'oneOf' is not permitted.");
        let reference = object(json!({"a": {"$ref": "#/$defs/A", "description": "an a"}}), json!(["a"]));
        assert_eq!(
            strict(reference),
            "In context=('properties', 'a'), $ref cannot have keywords {'description'}."
        );
        assert_eq!(
            strict(json!({"type": "object", "anyOf": []})),
            "In context=(), 'anyOf' is not permitted."
        );
    }

    #[test]
    fn other_schemas_are_of_objects_with_properties_and_of_arrays_with_items() {
        let loose = |schema: Value| openai_fault(&schema, false).unwrap_or_default();
        assert_eq!(
            loose(json!({"type": "array"})),
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'."
        );
        assert_eq!(loose(json!({"type": "object"})), "In context=(), object schema missing properties.");
        assert_eq!(
            loose(json!({"type": "object", "properties": {"a": {"type": "array"}}})),
            "In context=('properties', 'a'), array schema missing items."
        );
        assert_eq!(loose(json!({"type": "object", "properties": {"a": {"default": 1}}})), "");
        assert_eq!(loose(json!({"type": "object", "additionalProperties": {"type": "string"}})), "");
    }

    #[test]
    fn anthropic_wants_closed_objects_without_limits_of_numbers_and_texts() {
        let fault = |schema: Value| anthropic_fault(&schema).unwrap_or_default();
        let open = json!({"type": "object", "properties": {}});
        let wanted = "For 'object' type, 'additionalProperties' must be explicitly set to false";
        assert_eq!(fault(open.clone()), wanted);
        assert_eq!(fault(object(json!({"a": {"anyOf": [open, {"type": "null"}]}}), json!([]))), wanted);
        assert_eq!(
            fault(object(json!({"a": {"type": "integer", "minimum": 1, "maximum": 3}}), json!(["a"]))),
            "For 'integer' type, properties maximum, minimum are not supported"
        );
    }
}
