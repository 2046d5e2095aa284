//! Why there is no answer.

use crate::checkpoint::StoreError;
use crate::checkpoint::care::CareError;

use super::screen::Exit;

/// One line for people, and the exit code that goes with it.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    pub(super) text: String,
}

impl Failure {
    /// There is no such thing.
    pub(super) fn nothing(text: impl Into<String>) -> Self {
        Self { exit: Exit::No, text: text.into() }
    }

    /// It cannot be done.
    pub(super) fn unusable(text: impl Into<String>) -> Self {
        Self { exit: Exit::Unusable, text: text.into() }
    }

    /// What is stored does not fit together.
    pub(super) fn damaged(error: impl std::fmt::Display) -> Self {
        Self::nothing(format!("what is stored is damaged: {error}"))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt { .. } | StoreError::NoCheckpoint { .. } => Self::nothing(error.to_string()),
            StoreError::NewerFormat { .. } => Self::unusable(format!("{error}: use a newer version of it")),
            StoreError::Io(cause) => Self::unusable(cause.to_string()),
            other => Self::unusable(other.to_string()),
        }
    }
}

impl From<CareError> for Failure {
    fn from(error: CareError) -> Self {
        match error {
            CareError::Store(error) => error.into(),
            other => Self::unusable(other.to_string()),
        }
    }
}
