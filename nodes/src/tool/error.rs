//! The errors of tool calls.

use std::time::Duration;

use super::ToolOutcome;
use crate::message::NO_RESULT;

/// An error of a call that has no result of its tool. The text is written for the model that made the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// No tool has this name. The model has to pick one that exists.
    #[error("there is no tool named `{name}`; the tools are: {}", list(known))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names of the tools there are.
        known: Vec<String>,
    },
    /// The input does not fit the tool's schema, or the tool finds it wrong. The model has to correct it.
    #[error("the input does not fit the tool `{name}`: {reason}")]
    InvalidInput {
        /// The name of the tool.
        name: String,
        /// A description of the mismatch.
        reason: String,
    },
    /// The call is not permitted. Another try will not be, either.
    #[error("the call of the tool `{name}` was not permitted: {reason}")]
    Denied {
        /// The name of the tool.
        name: String,
        /// The cause.
        reason: String,
    },
    /// The tool panicked: its code has a mistake.
    #[error("the tool `{name}` broke: {reason}. Whether it did anything is not known.")]
    Panicked {
        /// The name of the tool.
        name: String,
        /// The message of the panic.
        reason: String,
    },
    /// The tool took too long.
    #[error("the tool `{name}` was stopped after {after:?}. Whether it did anything is not known.")]
    TimedOut {
        /// The name of the tool.
        name: String,
        /// The time after which it was stopped.
        after: Duration,
    },
    /// The work was stopped before the tool began.
    #[error("Not run: the work was stopped before the tool began.")]
    NotRun,
    /// The work was stopped while the tool ran.
    #[error("{NO_RESULT}")]
    Stopped,
}

impl ToolError {
    /// Returns the kind of end that this is.
    pub const fn outcome(&self) -> ToolOutcome {
        match self {
            Self::Unknown { .. } | Self::InvalidInput { .. } => ToolOutcome::Invalid,
            Self::Denied { .. } => ToolOutcome::Denied,
            Self::Panicked { .. } => ToolOutcome::Error,
            Self::TimedOut { .. } => ToolOutcome::TimedOut,
            Self::NotRun | Self::Stopped => ToolOutcome::Cancelled,
        }
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
