//! What tests of graphs are written with.
//!
//! See [the guide](crate::guide::testing), and `superstep test` of [the command line](crate::guide::cli), which writes a
//! test from a checkpoint.

pub use superstep_core::testing::*;

#[cfg(feature = "sqlite")]
use std::path::Path;

#[cfg(feature = "sqlite")]
use crate::checkpoint::{At, CheckpointReader, SqliteReader, StoreError};
#[cfg(feature = "sqlite")]
use crate::id::ThreadId;

/// The journal of a thread in a checkpoint file, as a cassette: like [`Cassette::of`], without the program that wrote it.
///
/// # Errors
/// When the file cannot be read. A thread that is not there has an empty journal.
#[cfg(feature = "sqlite")]
pub fn cassette_of_file(path: impl AsRef<Path>, thread: impl Into<ThreadId>) -> Result<Cassette, StoreError> {
    Ok(SqliteReader::open(path)?.journal(thread.into(), At::Head)?.cassette())
}
