//! The reason for which a model stopped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason for which a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The reply is complete.
    EndTurn,
    /// The model asks for tools.
    ToolUse,
    /// The reply reached the limit of output tokens and is cut off.
    MaxTokens,
    /// The reply reached a stop sequence.
    StopSequence,
    /// The model or its provider declined to answer.
    Refusal,
    /// The model paused in the middle of its turn: a request that [continues](super::ModelRequest::continuing) the
    /// reply returns the rest. The nodes of an agent make that request.
    Pause,
    /// The context window is full; the reply is cut off.
    WindowFull,
    /// A reason that this library does not know, in the provider's words.
    Other(String),
}

impl StopReason {
    /// Tells whether a limit cut the reply off, so that its last tool call may lack its end.
    pub const fn is_cut_off(&self) -> bool {
        matches!(self, Self::MaxTokens | Self::WindowFull | Self::Refusal)
    }
}
