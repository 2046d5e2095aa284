//! A JSON Schema, ready to check values.

use serde_json::Value;

/// The maximum number of mistakes that are listed of a value.
const MOST_MISTAKES: usize = 3;

/// The maximum number of characters that are quoted of a wrong value.
const MOST_QUOTED: usize = 60;

/// A JSON Schema, compiled once. Nothing is fetched for it.
pub(crate) struct ValueSchema(jsonschema::Validator);

impl ValueSchema {
    /// Compiles a schema, or says what is wrong with it.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::options().offline().build(schema);
        validator.map(Self).map_err(|error| located(&error, &error.to_string()))
    }

    /// Checks a value, or says what is wrong with it.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let mut mistakes = self.0.iter_errors(value).map(|error| describe(&error));
        let Some(first) = mistakes.next() else { return Ok(()) };
        let mut reason = first;
        for mistake in mistakes.by_ref().take(MOST_MISTAKES - 1) {
            reason = format!("{reason}; {mistake}");
        }
        match mistakes.count() {
            0 => {}
            more => reason = format!("{reason}; and {more} more"),
        }
        Err(reason)
    }
}

/// One mistake: where, what was found, and what was expected.
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

fn located(error: &jsonschema::ValidationError<'_>, what: &str) -> String {
    match error.instance_path().as_str() {
        "" => what.to_owned(),
        path => format!("at {path}: {what}"),
    }
}

/// Returns the text of an error, with no more than the beginning of a long value.
fn quoting(error: &jsonschema::ValidationError<'_>) -> String {
    let found = error.instance().to_string();
    match found.char_indices().nth(MOST_QUOTED) {
        None => error.to_string(),
        Some((end, _)) => error.masked_with(format!("{}…", &found[..end])).to_string(),
    }
}
