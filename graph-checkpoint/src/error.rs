//! Errors that both savers report.

use std::fmt::Display;

use superstep_core::checkpoint::{KeyProblem, StoreError};
use superstep_core::store::AccessError;

/// Errors of requests that a reader refuses.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReaderError {
    #[error(
        "{0} was opened for reading only: open it with a `SqliteSaver` or a `PostgresSaver` to write to it"
    )]
    ReadOnly(String),
    #[error("the list is not of the kind that was asked for: {0}")]
    OtherPage(&'static str),
}

impl From<ReaderError> for StoreError {
    fn from(error: ReaderError) -> Self {
        Self::Io(Box::new(error))
    }
}

pub(crate) fn corrupt(place: impl Display, reason: impl Display) -> StoreError {
    StoreError::Corrupt { place: place.to_string(), reason: reason.to_string() }
}

/// Returns the error for a row whose columns do not match its checksum.
pub(crate) fn mismatch(place: impl Display) -> StoreError {
    corrupt(place, "its checksum does not match")
}

/// Returns the error for a problem with the keys of a file.
pub(crate) fn keys(file: &str, problem: KeyProblem) -> StoreError {
    StoreError::Keys { place: file.to_owned(), problem }
}

/// Converts an error of a saver to that of a store.
pub(crate) fn access_error(error: StoreError) -> AccessError {
    match error {
        StoreError::Corrupt { place, reason } => AccessError::Damaged { place, reason },
        StoreError::Io(error) => AccessError::Failed(error),
        error => AccessError::Failed(Box::new(error)),
    }
}
