//! The schema of a tool's input, ready to check inputs.

use serde_json::Value;

use super::InvalidInput;
#[cfg(feature = "schema-validation")]
use crate::value_schema::ValueSchema;

/// The schema of a tool's input, compiled once.
pub(super) struct InputSchema {
    #[cfg(feature = "schema-validation")]
    schema: ValueSchema,
}

impl InputSchema {
    /// Compiles a schema, or says what is wrong with it.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        if schema["type"] != "object" {
            return Err(r#"the input of a tool is an object: the schema needs "type": "object""#.to_owned());
        }
        Ok(Self {
            #[cfg(feature = "schema-validation")]
            schema: ValueSchema::compile(schema)?,
        })
    }

    /// Checks an input.
    #[cfg(feature = "schema-validation")]
    pub(super) fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        self.schema.check(input).map_err(|reason| InvalidInput { reason })
    }

    /// Checks an input: without a validator only that it is an object.
    #[cfg(not(feature = "schema-validation"))]
    pub(super) fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        if input.is_object() { Ok(()) } else { Err(InvalidInput::new("the input has to be an object")) }
    }
}

#[cfg(test)]
#[cfg(feature = "schema-validation")]
mod tests {
    use serde_json::json;

    use super::*;

    fn mistakes(input: Value) -> String {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string" },
                "limit": { "anyOf": [{ "type": "integer", "maximum": 50 }, { "type": "null" }] },
                "order": { "enum": ["old", "new"] },
                "tags": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        InputSchema::compile(&schema).unwrap().check(&input).map_err(|error| error.reason).unwrap_err()
    }

    #[test]
    fn a_mistake_says_where_it_is_what_was_found_and_what_is_expected() {
        assert_eq!(mistakes(json!({})), r#""query" is missing"#);
        assert_eq!(mistakes(json!({ "query": 7 })), r#"at /query: 7 is not of type "string""#);
        assert_eq!(
            mistakes(json!({ "query": "q", "order": "up" })),
            r#"at /order: "up" is not one of "old" or "new""#
        );
        assert_eq!(
            mistakes(json!({ "query": "q", "limit": 51 })),
            r#"at /limit: 51 is greater than the maximum of 50, and 51 is not of type "null""#
        );
        assert_eq!(
            mistakes(json!({ "query": "q", "limt": 5 })),
            "Additional properties are not allowed ('limt' was unexpected)"
        );
        assert_eq!(
            mistakes(json!({ "query": "q", "tags": ["a", 1] })),
            r#"at /tags/1: 1 is not of type "string""#
        );
        assert_eq!(mistakes(json!("q")), r#""q" is not of type "object""#);
    }

    #[test]
    fn many_mistakes_are_counted_and_long_values_are_not_repeated() {
        let said = mistakes(json!({ "query": "q", "tags": [1, 2, 3, 4, 5] }));
        assert!(said.ends_with(r#"at /tags/2: 3 is not of type "string"; and 2 more"#), "{said}");
        let said = mistakes(json!({ "query": ["x".repeat(1_000)] }));
        assert!(said.starts_with(r#"at /query: ["xxx"#) && said.len() < 130, "{said}");
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        let refused = |schema: Value| InputSchema::compile(&schema).err().unwrap();
        assert!(refused(json!({ "type": "array" })).contains(r#"needs "type": "object""#));
        assert!(refused(json!({ "type": "object", "required": "query" })).starts_with("at /required: "));
        let remote =
            json!({ "type": "object", "properties": { "a": { "$ref": "https://example.org/a.json" } } });
        assert!(refused(remote).contains("example.org"));
    }
}
