//! Rules that are compiled: a JSON Schema and a regular expression.

use std::fmt;

use async_trait::async_trait;
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::{Breach, Rule};
use crate::text::without_fence;
use crate::value_schema::ValueSchema;
use crate::verification::Submission;

/// The rule that the response is one JSON value that fits a JSON Schema; a code fence around it is forgiven. Nothing is
/// fetched: a schema that refers to others has to have them in it.
pub struct SchemaRule(ValueSchema);

impl SchemaRule {
    /// The name of the rule.
    pub const NAME: &'static str = "schema";

    /// Compiles a schema.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn new(schema: &Value) -> Result<Self, InvalidRule> {
        ValueSchema::compile(schema).map(Self).map_err(|reason| InvalidRule { reason })
    }
}

#[async_trait]
impl Rule for SchemaRule {
    fn name(&self) -> &str {
        Self::NAME
    }

    async fn check(&self, submission: &Submission) -> Result<(), Breach> {
        let value: Value = serde_json::from_str(without_fence(&submission.response)).map_err(|error| {
            Breach::broken(format!("The response has to be one JSON value and nothing else: {error}."))
        })?;
        self.0.check(&value).map_err(|reason| {
            Breach::broken(format!("The JSON of the response does not fit what was asked for: {reason}."))
        })
    }
}

impl fmt::Debug for SchemaRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaRule").finish_non_exhaustive()
    }
}

/// The rule that a regular expression is found in the response, or that it is not. The syntax is that of the crate
/// `regex`, which takes time in proportion to the response whatever the expression.
#[derive(Clone, Debug)]
pub struct RegexRule {
    name: String,
    regex: Regex,
    wanted: Wanted,
    feedback: String,
}

#[derive(Clone, Copy, Debug)]
enum Wanted {
    Found,
    NotFound,
}

/// The maximum size of a compiled expression, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// The maximum number of characters that are quoted of a forbidden match.
const MOST_QUOTED: usize = 60;

impl RegexRule {
    /// The expression has to be found.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn must_match(pattern: &str) -> Result<Self, InvalidRule> {
        Self::of(pattern, Wanted::Found, format!("The response has to have a part that matches `{pattern}`."))
    }

    /// The expression must not be found.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn must_not_match(pattern: &str) -> Result<Self, InvalidRule> {
        Self::of(
            pattern,
            Wanted::NotFound,
            format!("The response has a part that matches `{pattern}`. Leave it out."),
        )
    }

    /// Sets the feedback for the model when the rule is broken: the purpose of an expression is not always clear from
    /// its text.
    #[must_use]
    pub fn feedback(mut self, feedback: impl Into<String>) -> Self {
        self.feedback = feedback.into();
        self
    }

    fn of(pattern: &str, wanted: Wanted, feedback: String) -> Result<Self, InvalidRule> {
        let compiled = RegexBuilder::new(pattern).size_limit(MOST_BYTES).build();
        // The error is a drawing of several lines, and says what is wrong in the last one.
        let regex = compiled.map_err(|error| InvalidRule {
            reason: error
                .to_string()
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned(),
        })?;
        let name = match wanted {
            Wanted::Found => format!("must match {pattern}"),
            Wanted::NotFound => format!("must not match {pattern}"),
        };
        Ok(Self { name, regex, wanted, feedback })
    }
}

#[async_trait]
impl Rule for RegexRule {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self, submission: &Submission) -> Result<(), Breach> {
        match (self.wanted, self.regex.find(&submission.response)) {
            (Wanted::Found, Some(_)) | (Wanted::NotFound, None) => Ok(()),
            (Wanted::Found, None) => Err(Breach::broken(self.feedback.as_str())),
            (Wanted::NotFound, Some(found)) => {
                let quote: String = found.as_str().chars().take(MOST_QUOTED).collect();
                Err(Breach::broken(format!("{} It is: {quote:?}", self.feedback)))
            }
        }
    }
}

/// An error of making a rule: its schema or its regular expression is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule is not valid: {reason}")]
pub struct InvalidRule {
    /// A description of the error.
    pub reason: String,
}
