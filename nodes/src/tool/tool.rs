//! The trait of all tools.

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Permission, PermissionMatcher, ToolContext, ToolFailure, ToolOutput, ToolResult};

/// An action that a model may ask for.
///
/// Seven methods have to be written; all others have a default, which assumes the dangerous case: the tool changes the
/// world, may not run beside other calls, and is not repeated after a crash. [`TypedTool`](super::TypedTool) and the
/// attribute
/// [`tool`](macro@super::tool) write all seven for an async function.
///
/// A call goes through them in this order, and the first that refuses ends it:
///
/// ```text
/// input_schema ──▶ validate_input ──▶ check_permissions ──▶ call ──▶ map_result
/// ```
///
/// With the feature `schema-validation`, methods that take an input are called only with one that fits the schema.
/// Without it, all that is checked before them is that the input is an object: `validate_input` then has to refuse what
/// `call` cannot use. A [`TypedTool`](super::TypedTool) refuses an input that cannot be read as its type, with or
/// without.
///
/// ```
/// use async_trait::async_trait;
/// use serde_json::{Value, json};
/// use superstep_nodes::tool::*;
///
/// struct Dice;
///
/// #[async_trait]
/// impl Tool for Dice {
///     fn name(&self) -> &str {
///         "roll"
///     }
///
///     fn prompt(&self) -> String {
///         "Rolls a die. Says how many it shows.".to_owned()
///     }
///
///     fn input_schema(&self) -> Value {
///         json!({ "type": "object", "properties": { "sides": { "type": "integer", "minimum": 2 } } })
///     }
///
///     async fn validate_input(&self, input: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
///         match input["sides"].as_u64() {
///             Some(sides) if sides > 20 => Err(InvalidInput::new("there is no die of more than 20 sides")),
///             _ => Ok(()),
///         }
///     }
///
///     async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
///         Permission::Allow
///     }
///
///     async fn call(&self, _: Value, _: &ToolContext) -> Result<ToolOutput, ToolFailure> {
///         Ok("4".into())
///     }
///
///     fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
///         ToolResult::of(self.name(), result)
///     }
/// }
/// ```
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Returns the name that models call the tool by: letters, digits, `_` and `-`, at most 64 of them.
    fn name(&self) -> &str;

    /// Returns the JSON Schema of the input, which is an object. It is asked for once, when the tool is registered.
    fn input_schema(&self) -> Value;

    /// Runs the tool. The input was found valid, and the call is permitted.
    ///
    /// It may be dropped at any await: when the run is cancelled, and when [`timeout`](Self::timeout) is over. What it
    /// has started beside itself stops by the context's [cancellation](ToolContext::cancellation).
    ///
    /// # Errors
    ///
    /// Fails if the work cannot be done; the model is shown what [`map_result`](Self::map_result) makes of it.
    async fn call(&self, input: Value, context: &ToolContext) -> Result<ToolOutput, ToolFailure>;

    /// Says whether the call may be made, as far as the tool knows. It is asked before every call.
    async fn check_permissions(&self, input: &Value, context: &ToolContext) -> Permission;

    /// Checks what the schema cannot express about an input, such as whether a file is unchanged since it was read.
    ///
    /// # Errors
    ///
    /// Fails if the call makes no sense; no permission is then asked for, and the model reads why.
    async fn validate_input(&self, input: &Value, context: &ToolContext) -> Result<(), InvalidInput>;

    /// Returns the purpose of the tool and when to use it, for the model. It is asked for once, when the tool is
    /// registered.
    fn prompt(&self) -> String;

    /// Makes the result that the model reads: [`ToolResult::of`], if there is nothing special about it.
    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult;

    /// Tells whether models are offered the tool. It is asked once, when the tool is registered.
    fn is_enabled(&self) -> bool {
        true
    }

    /// Tells whether a call with this input changes nothing.
    fn is_read_only(&self, input: &Value) -> bool {
        let _ = input;
        false
    }

    /// Tells whether a call with this input may run beside others that are safe, too.
    fn is_concurrency_safe(&self, input: &Value) -> bool {
        let _ = input;
        false
    }

    /// Tells whether a call with this input does what cannot be undone. By default all do that are not read-only.
    fn is_destructive(&self, input: &Value) -> bool {
        !self.is_read_only(input)
    }

    /// Returns the effect of a call with this input on the world: it decides whether a call that a crash cut short may
    /// run again.
    fn effect(&self, input: &Value) -> ToolEffect {
        if self.is_read_only(input) { ToolEffect::ReadOnly } else { ToolEffect::Changes }
    }

    /// Returns what compares the patterns of permission rules with this input, such as `git *` with a command.
    /// Without one a rule is about all calls of the tool or about none.
    fn permission_matcher(&self, input: &Value) -> Option<PermissionMatcher> {
        let _ = input;
        None
    }

    /// Returns the input as observers are shown it: completed, or with something left out. The tool itself is run with
    /// the original input.
    fn observable_input(&self, input: &Value) -> Value {
        input.clone()
    }

    /// Returns a description of the call for a model that decides on permissions. Without it such a model cannot
    /// decide, and a person is asked.
    fn classifier_input(&self, input: &Value) -> Option<String> {
        let _ = input;
        None
    }

    /// Returns the maximum number of characters of text in a result; longer text is cut in the middle.
    fn max_result_chars(&self) -> usize {
        DEFAULT_MAX_RESULT_CHARS
    }

    /// Returns the name of the model that each call pays for, by which its price is found; `None` if calls cost nothing.
    /// The data of a result then has the `usage` of the call, as a [`Usage`](crate::model::Usage).
    fn paid_model(&self) -> Option<&str> {
        None
    }

    /// Returns how long a call with this input may take, without the time in which its permission is decided on.
    /// `None` is forever. By default it is ten minutes. The runtime's clock has to be on (`enable_time`).
    fn timeout(&self, input: &Value) -> Option<Duration> {
        let _ = input;
        Some(DEFAULT_TIMEOUT)
    }
}

/// The default for the maximum number of characters of text in a result.
pub const DEFAULT_MAX_RESULT_CHARS: usize = 50_000;

/// The default for the maximum duration of a call.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// The effect of a tool call on the world.
///
/// A finished call is never repeated: its outcome is recorded. The effect matters for calls that a crash cut short, as
/// it is not known whether they happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolEffect {
    /// It looks and changes nothing: it may run again. A [`TypedTool`](super::TypedTool) of this kind also runs beside
    /// other such calls.
    ReadOnly,
    /// Twice is as good as once: it may run again.
    Idempotent,
    /// It changes something each time: it is never run again without a person's consent. This is the default, as it is
    /// the safe guess.
    #[default]
    Changes,
}

impl ToolEffect {
    /// Tells whether a call of unknown outcome may simply run again.
    pub const fn may_repeat(self) -> bool {
        matches!(self, Self::ReadOnly | Self::Idempotent)
    }
}

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

/// The error of an input that a tool does not take, in words for the model that made it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct InvalidInput {
    /// A description of the error, and of a valid input.
    pub reason: String,
}

impl InvalidInput {
    /// Makes one with this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

#[cfg(test)]
mod tests;
