//! The tools that a request declares, and which of them it wants called.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cache;
use crate::HttpError;
use crate::request_value::RequestValue;
use crate::schema;

const KNOWN: [&str; 10] = [
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "description",
    "eager_input_streaming",
    "input_examples",
    "input_schema",
    "name",
    "strict",
    "type",
];

/// Checks the tools and the choice of them.
pub(super) fn check(request: &RequestValue<'_>) -> Result<(), HttpError> {
    let mut names = BTreeSet::new();
    for place in request.get("tools").map(|tools| tools.items()).transpose()?.into_iter().flatten() {
        if !names.insert(tool(&place)?) {
            return Err(HttpError::invalid("tools: Tool names must be unique."));
        }
    }
    let Some(choice) = request.get("tool_choice") else {
        return Ok(());
    };
    let kind = choice.tag(&["any", "auto", "none", "tool"])?;
    let place = choice.tagged(kind);
    place.only(match kind {
        "none" => &["type"],
        "tool" => &["type", "name", "disable_parallel_tool_use"],
        _ => &["type", "disable_parallel_tool_use"],
    })?;
    place.get("disable_parallel_tool_use").map(|flag| flag.flag()).transpose()?;
    if names.is_empty() {
        return Err(HttpError::invalid(
            "tool_choice: tool_choice may only be specified while providing tools.",
        ));
    }
    if kind == "tool" {
        let name = place.need("name")?.text()?;
        if !names.contains(name) {
            return Err(HttpError::invalid(format!("Tool '{name}' not found in provided tools")));
        }
    }
    Ok(())
}

fn tool<'a>(place: &RequestValue<'a>) -> Result<&'a str, HttpError> {
    place.members()?;
    let kind = place.value().get("type").and_then(Value::as_str);
    if kind.is_some_and(|kind| kind != "custom") {
        // A tool that runs on the server; what it takes is between it and the model.
        cache::form(place)?;
        return place.need("name")?.name();
    }
    let place = place.tagged("custom");
    place.only(&KNOWN)?;
    let name = place.need("name")?.name()?;
    place.get("description").map(|text| text.text()).transpose()?;
    for flag in ["defer_loading", "eager_input_streaming", "strict"] {
        place.get_nullable(flag).map(|flag| flag.flag()).transpose()?;
    }
    input_schema(&place.need("input_schema")?, place.is_set("strict"))?;
    cache::form(&place)?;
    Ok(name)
}

fn input_schema(input: &RequestValue<'_>, strict: bool) -> Result<(), HttpError> {
    let members = input.members()?;
    input.need("type")?.one_of(&["object"])?;
    if ["allOf", "anyOf", "oneOf"].iter().any(|keyword| members.contains_key(*keyword)) {
        return Err(input.refuse("input_schema does not support oneOf, allOf, or anyOf at the top level"));
    }
    if members.get("properties").is_some_and(|properties| !properties.is_object()) {
        return Err(input.refuse(
            "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).",
        ));
    }
    let fault = if strict { schema::anthropic_fault(input.value()) } else { None };
    fault.map_or(Ok(()), |fault| Err(input.refuse(fault)))
}
