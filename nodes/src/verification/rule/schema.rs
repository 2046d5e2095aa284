//! A rule that is a JSON Schema.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;

use super::{Breach, InvalidRule, Rule};
use crate::prompt::without_fence;
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
