//! The kinds of failure of model calls, by the help that there is for them.

use std::time::Duration;

use super::{ModelError, StopReason};

/// A failure of a model call, by the help that there is for it: see [`ModelError::failure`] and [`StopReason::failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFailure {
    /// The request does not fit the model's window. Shorten the conversation.
    Overflow {
        /// The number of tokens of the request, if the provider gave it.
        tokens: Option<u64>,
        /// The number of tokens that the model takes, if the provider gave it.
        limit: Option<u64>,
    },
    /// The output limit cut the reply off. Raise it, or have the reply continued.
    Truncated,
    /// The provider is overloaded. Wait.
    Overloaded {
        /// The wait that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// The provider takes no more calls for now. Wait.
    RateLimited {
        /// The wait that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// The model was not reached, its provider failed, or its stream broke. Wait.
    Unreachable,
    /// The provider failed, and waiting does not help. Ask another model.
    Unavailable,
    /// The model refused a picture. Send the request without pictures.
    Media,
    /// Nothing but a change by a person helps.
    Fatal,
}

impl ModelError {
    /// Returns the kind of failure that the error is.
    pub const fn failure(&self) -> ModelFailure {
        match self {
            Self::Unreachable { .. } | Self::ServerFailed { .. } | Self::Stream { .. } => {
                ModelFailure::Unreachable
            }
            Self::NotRetryable { .. } => ModelFailure::Unavailable,
            Self::RateLimited { retry_after, .. } => ModelFailure::RateLimited { retry_after: *retry_after },
            Self::Overloaded { retry_after, .. } => ModelFailure::Overloaded { retry_after: *retry_after },
            Self::RequestTooLong { tokens, limit, .. } => {
                ModelFailure::Overflow { tokens: *tokens, limit: *limit }
            }
            Self::ImageRefused { .. } => ModelFailure::Media,
            Self::OutOfCredit { .. }
            | Self::Unauthorized { .. }
            | Self::InvalidRequest { .. }
            | Self::ScriptExhausted { .. } => ModelFailure::Fatal,
        }
    }
}

impl StopReason {
    /// Returns the kind of failure if a limit cut the reply off; `None` if the reply is whole.
    pub const fn failure(&self) -> Option<ModelFailure> {
        match self {
            Self::MaxTokens => Some(ModelFailure::Truncated),
            Self::WindowFull => Some(ModelFailure::Overflow { tokens: None, limit: None }),
            Self::EndTurn
            | Self::ToolUse
            | Self::StopSequence
            | Self::Refusal
            | Self::Pause
            | Self::Interrupted
            | Self::Other(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_054_every_error_has_a_kind_of_failure_and_none_is_caught_by_a_wildcard() {
        let reason = String::new;
        let kinds = [
            (ModelError::Unreachable { reason: reason() }, ModelFailure::Unreachable),
            (ModelError::ServerFailed { reason: reason() }, ModelFailure::Unreachable),
            (ModelError::NotRetryable { reason: reason() }, ModelFailure::Unavailable),
            (ModelError::OutOfCredit { reason: reason() }, ModelFailure::Fatal),
            (ModelError::Unauthorized { reason: reason() }, ModelFailure::Fatal),
            (ModelError::ImageRefused { reason: reason() }, ModelFailure::Media),
            (
                ModelError::RequestTooLong { reason: reason(), tokens: Some(9), limit: Some(8) },
                ModelFailure::Overflow { tokens: Some(9), limit: Some(8) },
            ),
        ];
        for (error, kind) in kinds {
            assert_eq!(error.failure(), kind, "{error}");
        }
        let source = include_str!("failure.rs").split("#[cfg(test)]").next().unwrap_or_default();
        assert!(!source.contains("_ =>"), "a wildcard arm would hide a new error");
    }
}
