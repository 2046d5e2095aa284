//! Functions, as both protocols of OpenAI write them.

use serde_json::{Map, Value, json};
use superstep_nodes::message::{Content, Detail, ToolMessage, ToolStatus};
use superstep_nodes::model::ToolChoice;
use superstep_nodes::tool::ToolSpec;

use crate::sendable::tool_name;
use crate::tool_schema::complete;

/// Returns the declaration of a tool for the model.
pub(crate) fn declaration(spec: &ToolSpec) -> Value {
    let parameters = complete(&spec.input_schema);
    json!({ "name": tool_name(&spec.name), "description": spec.description, "parameters": parameters })
}

/// The input of a call as the text that the protocol wants: that of an object, as servers and the templates of models
/// are known to read it as one.
pub(crate) fn arguments(input: &Value) -> String {
    match input {
        Value::Object(_) => input.to_string(),
        Value::String(text) if serde_json::from_str::<Map<String, Value>>(text).is_ok() => text.clone(),
        input => json!({ "input": input }).to_string(),
    }
}

/// Returns the `tool_choice` of a request; `named` writes the name of one tool in the protocol's form.
pub(crate) fn tool_choice(choice: &ToolChoice, named: fn(&str) -> Value) -> Option<Value> {
    match choice {
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Tool(name) => Some(named(&tool_name(name))),
        // `Auto`, and any choice added later: as the model thinks best.
        _ => None,
    }
}

/// The text of a tool's result; `otherwise` is said of one that has none. The protocol has no place for whether the
/// tool failed but the text.
pub(crate) fn result_text(result: &ToolMessage, otherwise: &str) -> String {
    let said = result.content.to_text();
    let text = if said.trim().is_empty() { otherwise } else { &*said };
    match result.status {
        ToolStatus::Ok => text.to_owned(),
        ToolStatus::Error => format!("Error: {text}"),
    }
}

/// Returns the level of detail at which a model is to look at an image.
pub(crate) const fn detail(detail: Detail) -> &'static str {
    match detail {
        Detail::Auto => "auto",
        Detail::Low => "low",
        Detail::High => "high",
    }
}

/// The text of an empty result.
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// Returns `true` if a text is one whole JSON object, so that nothing more can belong to it.
pub(crate) fn is_whole_object(text: &str) -> bool {
    text.trim_end().ends_with('}') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

/// The text of content that has any.
pub(crate) fn text_of(content: &Content) -> Option<String> {
    let text = content.to_text();
    (!text.trim().is_empty()).then(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_sent_as_the_text_of_an_object() {
        assert_eq!(arguments(&json!({ "a": 1 })), r#"{"a":1}"#);
        assert_eq!(arguments(&json!(r#"{ "a": 1 }"#)), r#"{ "a": 1 }"#, "as the model has written it");
        assert_eq!(arguments(&json!("no object")), r#"{"input":"no object"}"#);
        assert_eq!(arguments(&json!([1])), r#"{"input":[1]}"#);
    }

    #[test]
    fn a_tool_without_a_schema_takes_an_object_of_nothing() {
        let spec = |schema| ToolSpec { name: "now!".into(), description: "It.".into(), input_schema: schema };
        let parameters = |schema| declaration(&spec(schema))["parameters"].clone();
        assert_eq!(parameters(Value::Null), json!({ "type": "object", "properties": {} }));
        let open = json!({ "type": "object", "additionalProperties": true });
        assert_eq!(parameters(open.clone()), open);
        assert_eq!(declaration(&spec(Value::Null))["name"], "now_");
    }
}
