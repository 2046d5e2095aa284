//! Tools for testing graphs.
//!
//! See [the guide](crate::guide::testing), and `superstep test` of [the command line](crate::guide::cli), which
//! generates a test from a checkpoint.

pub use superstep_core::testing::*;

#[cfg(feature = "sqlite")]
use std::path::Path;

#[cfg(feature = "sqlite")]
use crate::checkpoint::{At, CheckpointReader, SqliteReader, StoreError};
#[cfg(feature = "sqlite")]
use crate::id::ThreadId;

/// Returns the journal of a thread in a checkpoint file as a cassette: like [`Cassette::of`], but without the
/// program that wrote the file.
///
/// # Errors
/// Returns an error if the file cannot be read. A thread that does not exist has an empty journal.
#[cfg(feature = "sqlite")]
pub fn cassette_of_file(path: impl AsRef<Path>, thread: impl Into<ThreadId>) -> Result<Cassette, StoreError> {
    Ok(SqliteReader::open(path)?.journal(thread.into(), At::Head)?.cassette())
}
