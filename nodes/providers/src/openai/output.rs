//! The form of a reply's text, as both protocols of OpenAI ask for it.

use serde_json::{Map, Value, json};
use superstep_nodes::model::OutputFormat;

use crate::output_schema::strict;
use crate::sendable::tool_name;

/// The enforcement of an output schema: the model is held to it, or only shown it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// Held to it, if the schema lets it.
    #[default]
    Strict,
    /// Shown it.
    Lenient,
}

/// The name, the schema and whether the model is held to it; none if any text will do, and none of what is no object,
/// for which there is no such form: the prompt has it in words as well, and the caller checks the value.
pub(crate) fn output_form(format: &OutputFormat, how: Strictness) -> Option<Map<String, Value>> {
    let OutputFormat::Json { name, schema } = format else {
        return None;
    };
    let held = Some(schema).filter(|_| how == Strictness::Strict).and_then(strict);
    let is_strict = held.is_some();
    let mut schema = held.unwrap_or_else(|| schema.clone());
    if schema["type"] != "object" {
        return None;
    }
    if schema.get("additionalProperties").is_none() && schema.get("properties").is_none() {
        schema["properties"] = json!({});
    }
    let mut form = Map::new();
    form.insert("name".into(), tool_name(name).into());
    form.insert("schema".into(), schema);
    form.insert("strict".into(), is_strict.into());
    Some(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(schema: Value, how: Strictness) -> Option<Value> {
        let format = OutputFormat::Json { name: "A b".into(), schema };
        output_form(&format, how).map(Value::Object)
    }

    fn object() -> Value {
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] })
    }

    #[test]
    fn a_model_is_held_to_what_can_be_strict() {
        let mut closed = object();
        closed["additionalProperties"] = false.into();
        let expected = json!({ "name": "A_b", "schema": closed, "strict": true });
        assert_eq!(form(object(), Strictness::Strict), Some(expected));
    }

    #[test]
    fn a_model_is_shown_what_cannot_be_strict_as_it_is() {
        let shown = |schema: Value| Some(json!({ "name": "A_b", "schema": schema, "strict": false }));
        assert_eq!(form(object(), Strictness::Lenient), shown(object()));
        let open = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        assert_eq!(form(open.clone(), Strictness::Strict), shown(open));
    }

    #[test]
    fn what_is_no_object_is_asked_for_in_words_alone() {
        assert_eq!(form(json!({ "type": "array", "items": { "type": "string" } }), Strictness::Strict), None);
    }
}
