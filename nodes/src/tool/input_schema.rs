//! The schema of a tool's input, ready to check inputs.

use serde_json::Value;

use super::InvalidInput;

/// How many mistakes of an input are listed.
#[cfg(feature = "schema-validation")]
const MOST_MISTAKES: usize = 3;

/// How many characters of a wrong value are quoted.
#[cfg(feature = "schema-validation")]
const MOST_QUOTED: usize = 60;

/// The schema of a tool's input, compiled once.
pub(super) struct InputSchema {
    #[cfg(feature = "schema-validation")]
    validator: jsonschema::Validator,
}

impl InputSchema {
    /// Compiles a schema, or says what is wrong with it.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        if schema["type"] != "object" {
            return Err(r#"the input of a tool is an object: the schema needs "type": "object""#.to_owned());
        }
        Ok(Self {
            #[cfg(feature = "schema-validation")]
            validator: jsonschema::options()
                .offline()
                .build(schema)
                .map_err(|error| located(&error, &error.to_string()))?,
        })
    }

    /// Checks an input.
    #[cfg(feature = "schema-validation")]
    pub(super) fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        let mut mistakes = self.validator.iter_errors(input).map(|error| describe(&error));
        let Some(first) = mistakes.next() else { return Ok(()) };
        let mut reason = first;
        for mistake in mistakes.by_ref().take(MOST_MISTAKES - 1) {
            reason = format!("{reason}; {mistake}");
        }
        match mistakes.count() {
            0 => {}
            more => reason = format!("{reason}; and {more} more"),
        }
        Err(InvalidInput { reason })
    }

    /// Checks an input: without a validator only that it is an object.
    #[cfg(not(feature = "schema-validation"))]
    pub(super) fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        if input.is_object() { Ok(()) } else { Err(InvalidInput::new("the input has to be an object")) }
    }
}

/// One mistake: where, what was found, and what was expected.
#[cfg(feature = "schema-validation")]
fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    use jsonschema::error::ValidationErrorKind::{AnyOf, OneOfNotValid, Required};

    match error.kind() {
        // What was found is the whole object, which says nothing of what is missing.
        Required { property } => located(error, &format!("{property} is missing")),
        AnyOf { context } | OneOfNotValid { context } => {
            let choices = context.iter().filter_map(|choice| choice.first());
            let choices: Vec<String> = choices.take(MOST_MISTAKES).map(quoting).collect();
            located(error, &choices.join(", and "))
        }
        _ => located(error, &quoting(error)),
    }
}

#[cfg(feature = "schema-validation")]
fn located(error: &jsonschema::ValidationError<'_>, what: &str) -> String {
    match error.instance_path().as_str() {
        "" => what.to_owned(),
        path => format!("at {path}: {what}"),
    }
}

/// What an error says, with no more than the beginning of a long value.
#[cfg(feature = "schema-validation")]
fn quoting(error: &jsonschema::ValidationError<'_>) -> String {
    let found = error.instance().to_string();
    match found.char_indices().nth(MOST_QUOTED) {
        None => error.to_string(),
        Some((end, _)) => error.masked_with(format!("{}…", &found[..end])).to_string(),
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
