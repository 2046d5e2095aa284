//! Returns free pages to the file system.

use std::time::Duration;

use serde::Serialize;
use superstep_core::checkpoint::StoreError;

use super::writing::{Keyless, in_turn, open};
use crate::maintenance::MaintenanceError;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::file::checkpoint_file::CheckpointFile;

/// The result of a vacuum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Vacuumed {
    /// The size of the file before the vacuum, in bytes.
    pub before: u64,
    /// The size after the vacuum, in bytes.
    pub after: u64,
    /// `true` if the file already has its new size. While another program reads an older state of the file, it does not
    /// yet; it is shortened when a program next moves the log into the file.
    pub shortened: bool,
}

/// Rewrites a file without its free pages. This temporarily needs as much space again, in the log beside the file.
///
/// Programs may have the file open: readers continue, and writers wait. The call waits at most `patience` for other
/// writers.
///
/// # Errors
/// Returns [`MaintenanceError::Busy`] if other programs wrote for longer than `patience`,
/// [`MaintenanceError::OlderFormat`], and [`MaintenanceError::Store`], also if SQLite finds the file malformed: then
/// nothing is written.
pub fn vacuum(file: impl Into<CheckpointFile>, patience: Duration) -> Result<Vacuumed, MaintenanceError> {
    vacuum_in(&open(file.into(), Keyless::Allowed, patience)?, patience)
}

pub(super) fn vacuum_in(connection: &Connection, patience: Duration) -> Result<Vacuumed, MaintenanceError> {
    let before = size(connection)?;
    in_turn(connection, patience, || connection.execute_batch("VACUUM").map_err(sqlite))?;
    let after = size(connection)?;
    let moved = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    let shortened = moved.map_err(sqlite)? == 0;
    Ok(Vacuumed { before, after, shortened })
}

fn size(connection: &Connection) -> Result<u64, StoreError> {
    let read =
        |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(sqlite);
    Ok((read("page_count")? * read("page_size")?).unsigned_abs())
}
