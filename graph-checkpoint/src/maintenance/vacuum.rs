//! Pages that are free go back to the file system.

use std::time::Duration;

use serde::Serialize;
use superstep_core::checkpoint::StoreError;

use super::error::MaintenanceError;
use super::writing::{Keyless, in_turn, open};
use crate::connection::Connection;
use crate::error::sqlite;
use crate::file::checkpoint_file::CheckpointFile;

/// The result of a vacuum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Vacuumed {
    /// The size of the file before, in bytes.
    pub before: u64,
    /// Its size after.
    pub after: u64,
    /// `true` if the file already has that size. While another program reads an older state of it, it does not; the
    /// next program that moves the log into the file shortens it.
    pub shortened: bool,
}

/// Writes a file anew without its free pages. It needs as much space again while it does so, in the log
/// beside the file.
///
/// Programs may have the file open: those that read go on reading, those that write wait. It waits itself for at most
/// `patience` for somebody who is writing.
///
/// # Errors
/// [`MaintenanceError::Busy`] when somebody wrote for all that time, [`MaintenanceError::OlderFormat`], and
/// [`MaintenanceError::Store`], also when SQLite finds the file malformed: then nothing is written.
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
