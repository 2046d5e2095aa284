//! Conversions from SQLite's errors to those of the trait.

use std::fmt::Display;
use std::sync::Arc;

use rusqlite::ErrorCode;
use superstep_core::checkpoint::StoreError;
use superstep_core::state::Excess;

use crate::error::corrupt;

/// Errors of the file other than SQLite's own.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("the folder {0} does not exist: create it first")]
    NoFolder(String),
    #[error("there is no file {0}")]
    NoFile(String),
    #[error("{0} is a folder: name a file in it")]
    Folder(String),
    #[error("{0} is a pipe, a socket or a device: name a file")]
    NotRegular(String),
    #[error("{0} cannot be read: {1}")]
    Unreadable(String, #[source] std::io::Error),
    #[error("{0} is empty: nothing was stored in it yet")]
    Empty(String),
    #[error(
        "{0} was removed or replaced while it was open, and later writes are lost: put the file back, or open the \
         saver again"
    )]
    Moved(String),
    #[error(
        "{0} was not closed by the program that wrote it, and its folder is not writable: copy the file with the files \
         beside it, {0}-wal and {0}-shm, to a folder that is"
    )]
    LogUnreadable(String),
    #[error("the saver's writer thread is gone")]
    WriterGone,
    #[error("failed to start the writer thread: {0}")]
    Spawn(#[source] std::io::Error),
    #[error("another program changed the thread at the same moment")]
    Raced,
    #[error("part of a request failed after it had begun to write")]
    HalfWritten,
    #[error("an earlier failure lost the in-memory database")]
    MemoryLost,
    /// The error of a failed transaction, shared by all of its requests.
    #[error("{}", reason(.0))]
    Shared(Arc<StoreError>),
}

impl FileError {
    /// Returns an error for one of several callers that share a failure.
    pub(crate) fn shared(failure: &Arc<StoreError>) -> StoreError {
        match &**failure {
            StoreError::Corrupt { place, reason } => corrupt(place, reason),
            StoreError::Busy => StoreError::Busy,
            _ => Self::Shared(failure.clone()).into(),
        }
    }
}

/// Returns the cause of a failure without the prefix that every store error has.
fn reason(failure: &StoreError) -> &dyn Display {
    match failure {
        StoreError::Io(error) => error,
        other => other,
    }
}

impl From<FileError> for StoreError {
    fn from(trouble: FileError) -> Self {
        Self::Io(Box::new(trouble))
    }
}

/// Converts SQLite's error. Damage is distinguished from other failures, so that a damaged file is never retried.
pub(crate) fn sqlite(error: rusqlite::Error) -> StoreError {
    use rusqlite::Error as E;
    if is_busy(&error) {
        return StoreError::Busy;
    }
    let damaged = match &error {
        // The statements are fixed, so a missing table or column means that the file is damaged.
        E::SqliteFailure(failure, said) => match failure.code {
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => true,
            ErrorCode::Unknown => said.as_ref().is_some_and(|said| said.starts_with("no such ")),
            _ => false,
        },
        E::SqlInputError { .. }
        | E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::Utf8Error(..)
        | E::InvalidColumnType(..) => true,
        _ => false,
    };
    if error.sqlite_error_code() == Some(ErrorCode::TooBig) {
        return StoreError::TooLarge { place: "a row of the file".into(), excess: Excess::Row };
    }
    if damaged { corrupt("the file", error) } else { StoreError::Io(Box::new(error)) }
}

pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
