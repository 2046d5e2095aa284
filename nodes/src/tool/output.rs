//! What a tool gives back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::Content;

/// What a tool gives back: content for the model and, if there is any, data for programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The output as the model reads it.
    pub content: Content,
    /// The same output in a form that needs no parsing of prose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ToolOutput {
    /// Makes output that is text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Content::text(text), data: None }
    }

    /// Adds data for programs.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}
