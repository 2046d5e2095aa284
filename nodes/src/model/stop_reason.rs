//! The reason for which a model stopped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason for which a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It said all it had to say.
    EndTurn,
    /// It waits for the results of tools.
    ToolUse,
    /// It reached the limit of its output; what it said is cut off.
    MaxTokens,
    /// It reached a stop sequence.
    StopSequence,
    /// It, or its provider, declined to answer.
    Refusal,
    /// It pauses in the middle of its turn: a request that [continues](super::ModelRequest::continuing) the reply gets the rest.
    /// The nodes of an agent make that request by themselves.
    Pause,
    /// Its window is full; what it said is cut off.
    WindowFull,
    /// Something that the provider has a new word for.
    Other(String),
}

impl StopReason {
    /// Tells whether a limit cut the reply off, so that its last tool call may lack its end.
    pub const fn is_cut_off(&self) -> bool {
        matches!(self, Self::MaxTokens | Self::WindowFull | Self::Refusal)
    }
}
