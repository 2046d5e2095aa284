//! The output of a tool.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolFailure;
use crate::message::Content;

/// The output of a tool: content for the model and, if there is any, data for programs.
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

    /// Makes output of a value: its JSON as text for the model, and the value for programs.
    ///
    /// # Errors
    ///
    /// Fails if the value has no form in JSON.
    pub fn json(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_value(value).map(Self::from)
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

impl From<Content> for ToolOutput {
    fn from(content: Content) -> Self {
        Self { content, data: None }
    }
}

impl From<Value> for ToolOutput {
    fn from(value: Value) -> Self {
        Self::text(value.to_string()).with_data(value)
    }
}

/// A type that the function of a tool may return: text, content, a JSON value, a [`ToolOutput`], or a result of one of
/// them whose error has a text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a tool returns",
    label = "no text, `Content`, `serde_json::Value`, `ToolOutput`, or `Result` of one of them",
    note = "the error of a `Result` implements `Display`; `ToolOutput::json` makes output of what implements `Serialize`"
)]
pub trait IntoToolOutput {
    /// Makes output, or a failure.
    ///
    /// # Errors
    ///
    /// Fails if it is an error.
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure>;
}

impl<O: Into<ToolOutput>, E: fmt::Display> IntoToolOutput for Result<O, E> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
        self.map(Into::into).map_err(ToolFailure::new)
    }
}

macro_rules! output {
    ($($type:ty)*) => {
        $(impl IntoToolOutput for $type {
            fn into_tool_output(self) -> Result<ToolOutput, ToolFailure> {
                Ok(self.into())
            }
        })*
    };
}

output! { String &str Content Value ToolOutput }
