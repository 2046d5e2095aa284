//! The description of a tool for models.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The whole description of a tool that a model gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// The name, which calls of the model use.
    pub name: String,
    /// The purpose of the tool, and when to use it.
    pub description: String,
    /// The JSON Schema of its input.
    pub input_schema: Value,
}
