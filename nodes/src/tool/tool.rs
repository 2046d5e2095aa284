//! The trait of all tools.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{ToolEffect, ToolError, ToolOutput, ToolSpec};

/// Something a model may ask to have done.
///
/// The trait can be used as `dyn Tool`. A tool checks its own input: what arrives is whatever the model
/// wrote, and one that does not fit is a [`ToolError::InvalidInput`]. [`TypedTool`](super::TypedTool) does
/// so by deserialising it.
pub trait Tool: Send + Sync + 'static {
    /// Returns the name models call the tool by.
    fn name(&self) -> &str;

    /// Returns what the tool does and when to use it, for the model.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of the input.
    fn input_schema(&self) -> Value;

    /// Returns what a call does to the world: it decides whether a call that a crash cut short may run again,
    /// and whether calls may run at the same time.
    fn effect(&self) -> ToolEffect {
        ToolEffect::default()
    }

    /// Runs the tool.
    ///
    /// # Errors
    ///
    /// Fails if the input does not fit or the work cannot be done; the model is shown the error's text.
    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// Returns what a model is told of the tool.
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            input_schema: self.input_schema(),
        }
    }
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn description(&self) -> &str {
        (**self).description()
    }

    fn input_schema(&self) -> Value {
        (**self).input_schema()
    }

    fn effect(&self) -> ToolEffect {
        (**self).effect()
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        (**self).call(input)
    }

    fn spec(&self) -> ToolSpec {
        (**self).spec()
    }
}
