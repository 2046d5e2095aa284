//! The errors of model calls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ModelFailure, Purpose};

/// The errors of model calls.
///
/// The error can be stored and read back, so that a recorded failure is replayed as the same failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelError {
    /// The model could not be reached, the connection broke, or no answer came in time. Try again.
    #[error("the model could not be reached: {reason}")]
    Unreachable {
        /// A description of the error.
        reason: String,
    },
    /// The provider failed. Try again.
    #[error("the model's provider failed: {reason}")]
    ServerFailed {
        /// The provider's message.
        reason: String,
    },
    /// The provider failed, and says that another try does not help (`x-should-retry: false`). Ask another model, or
    /// later.
    #[error("the model's provider failed and asks not to be tried again: {reason}")]
    NotRetryable {
        /// The provider's message.
        reason: String,
    },
    /// Too many calls. Try again after the given time, or with a growing delay if there is none.
    #[error("the rate limit of the model is reached{}", because(reason))]
    RateLimited {
        /// The time to wait, if the provider gave one.
        retry_after: Option<Duration>,
        /// The provider's message; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// The provider is overloaded. Try again after the given time, or with a growing delay if there is none.
    #[error("the model is overloaded: {reason}")]
    Overloaded {
        /// The provider's message.
        reason: String,
        /// The time to wait, if the provider gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<Duration>,
    },
    /// The money or the quota is used up. Another try does not help before the account has more.
    #[error("the account with the model's provider has no credit left: {reason}")]
    OutOfCredit {
        /// The provider's message.
        reason: String,
    },
    /// The credentials were refused. Correct them; another try does not help.
    #[error("the model refused the credentials: {reason}")]
    Unauthorized {
        /// The provider's message.
        reason: String,
    },
    /// The request is larger than the model's window. Shorten the conversation.
    #[error("the request is too long for the model: {reason}")]
    RequestTooLong {
        /// The provider's message.
        reason: String,
        /// The number of tokens of the request, if the provider gave it: including those of the output that it asks
        /// for, where the provider adds them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// The maximum number of tokens that the model takes, if the provider gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// A picture of the request was refused: too large, damaged, or of a kind that the model does not read. Send the request
    /// without it.
    #[error("the model refused a picture: {reason}")]
    ImageRefused {
        /// The provider's message.
        reason: String,
    },
    /// The request was refused as wrong. Correct it; another try does not help.
    #[error("the model refused the request: {reason}")]
    InvalidRequest {
        /// A description of the error.
        reason: String,
    },
    /// The stream was no complete reply. Try again; what had arrived is no answer.
    #[error("the model's reply is not usable: {fault}")]
    Stream {
        /// The fault in the stream.
        fault: StreamFault,
    },
    /// A [`Scripted`](super::Scripted) model has no reply left. Add turns to its script.
    #[error("the script has no reply left for purpose `{purpose}`, it has given {given}")]
    ScriptExhausted {
        /// The purpose of the call.
        purpose: Purpose,
        /// The number of replies that the script has given to calls of that purpose.
        given: usize,
    },
}

impl ModelError {
    /// Tells whether the very same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.failure(),
            ModelFailure::Unreachable | ModelFailure::RateLimited { .. } | ModelFailure::Overloaded { .. }
        )
    }

    /// Returns the name of the error's kind, the same as in JSON: `unreachable`, `rate_limited` and so on.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::ServerFailed { .. } => "server_failed",
            Self::NotRetryable { .. } => "not_retryable",
            Self::RateLimited { .. } => "rate_limited",
            Self::Overloaded { .. } => "overloaded",
            Self::OutOfCredit { .. } => "out_of_credit",
            Self::Unauthorized { .. } => "unauthorized",
            Self::RequestTooLong { .. } => "request_too_long",
            Self::ImageRefused { .. } => "image_refused",
            Self::InvalidRequest { .. } => "invalid_request",
            Self::Stream { .. } => "stream",
            Self::ScriptExhausted { .. } => "script_exhausted",
        }
    }

    /// Returns how long to wait before the next try, if the provider said.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

impl From<StreamFault> for ModelError {
    fn from(fault: StreamFault) -> Self {
        Self::Stream { fault }
    }
}

/// A fault in a stream of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StreamFault {
    /// The stream ended without a stop event: the connection broke, or the provider gave up.
    #[error("the stream ended before the reply did")]
    EndedEarly,
    /// Something other than usage came after the stop event.
    #[error("the stream continued after the reply was complete")]
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
}
