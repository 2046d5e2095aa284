//! The error of an input that a tool does not take.

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
