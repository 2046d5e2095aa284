//! Why a model call has no answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Purpose;

/// Why a model call has no answer.
///
/// The error can be stored and read back, so that a recorded failure is replayed as the same failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelError {
    /// The model could not be reached, or the connection broke. Try again.
    #[error("the model could not be reached: {reason}")]
    Unreachable {
        /// What went wrong.
        reason: String,
    },
    /// Too many calls. Try again after the given time, or with a growing delay if there is none.
    #[error("the model takes no more calls for now")]
    RateLimited {
        /// How long to wait, if the provider said.
        retry_after: Option<Duration>,
    },
    /// The provider is overloaded. Try again with a growing delay.
    #[error("the model is overloaded: {reason}")]
    Overloaded {
        /// What the provider said.
        reason: String,
    },
    /// The credentials were refused. Correct them; another try does not help.
    #[error("the model refused the credentials: {reason}")]
    Unauthorized {
        /// What the provider said.
        reason: String,
    },
    /// The request is larger than the model's window. Shorten the conversation.
    #[error("the request is too long for the model: {reason}")]
    RequestTooLong {
        /// What the provider said.
        reason: String,
    },
    /// The request was refused as wrong. Correct it; another try does not help.
    #[error("the model refused the request: {reason}")]
    InvalidRequest {
        /// What is wrong with it.
        reason: String,
    },
    /// The stream was no complete reply. Try again; what had arrived is no answer.
    #[error("the model's reply is not usable: {fault}")]
    Stream {
        /// What is wrong with the stream.
        fault: StreamFault,
    },
    /// A [`Scripted`](super::Scripted) model has no reply left. Add turns to its script.
    #[error("the script has no reply left for purpose `{purpose}`, it has given {given}")]
    ScriptExhausted {
        /// What the call was for.
        purpose: Purpose,
        /// How many replies the script has given to calls of that purpose.
        given: usize,
    },
}

impl ModelError {
    /// Tells whether the very same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::RateLimited { .. } | Self::Overloaded { .. } => true,
            Self::Stream { .. } => true,
            Self::Unauthorized { .. }
            | Self::RequestTooLong { .. }
            | Self::InvalidRequest { .. }
            | Self::ScriptExhausted { .. } => false,
        }
    }
}

impl From<StreamFault> for ModelError {
    fn from(fault: StreamFault) -> Self {
        Self::Stream { fault }
    }
}

/// What is wrong with a stream of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StreamFault {
    /// The stream ended without a stop event: the connection broke, or the provider gave up.
    #[error("the stream ended before the reply did")]
    EndedEarly,
    /// Something other than usage came after the stop event.
    #[error("the stream went on after the reply was complete")]
    AfterStop,
    /// Two tool calls of one stream have the same index.
    #[error("two tool calls have the index {index}")]
    DuplicateToolCall {
        /// The index.
        index: u32,
    },
    /// Input or an end came for a tool call that had not started or had ended.
    #[error("there is no open tool call with the index {index}")]
    NoOpenToolCall {
        /// The index.
        index: u32,
    },
    /// The reply was complete while a tool call was not.
    #[error("the tool call `{id}` is not complete")]
    UnendedToolCall {
        /// The id of the call.
        id: String,
    },
    /// The input of a tool call is not JSON.
    #[error("the input of the tool call `{id}` is not JSON: {reason}")]
    InvalidToolInput {
        /// The id of the call.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
}
