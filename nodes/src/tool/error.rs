//! Why a tool call has no output.

use serde::{Deserialize, Serialize};

/// Why a tool call has no output. The text is written for the model that made the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
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
    /// The input does not fit the tool's schema. The model has to correct it.
    #[error("the input does not fit the tool `{name}`: {reason}")]
    InvalidInput {
        /// The name of the tool.
        name: String,
        /// What does not fit.
        reason: String,
    },
    /// The tool ran and failed. Whether another try helps is for the reason to say.
    #[error("the tool `{name}` failed: {reason}")]
    Failed {
        /// The name of the tool.
        name: String,
        /// What went wrong.
        reason: String,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
