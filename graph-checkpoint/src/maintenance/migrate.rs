//! From an older format to today's.

use serde::Serialize;

use super::error::MaintenanceError;
use crate::file::File;
use crate::file::checkpoint_file::CheckpointFile;
use crate::options::SqliteOptions;
use crate::sqlite_reader::SqliteReader;

/// From which format to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Migration {
    /// The format that the file has, or had.
    pub from: u32,
    /// Today's format.
    pub to: u32,
}

impl Migration {
    /// Returns `true` if the two formats differ, so that there is something to do.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.from != self.to
    }
}

/// Tells what [`migrate`] would do to a file, without touching it.
///
/// # Errors
/// [`MaintenanceError::Store`] when the file cannot be read, or has a newer format.
pub fn migration(file: impl Into<CheckpointFile>) -> Result<Migration, MaintenanceError> {
    Ok(Migration { from: SqliteReader::open_with(file.into(), true)?.format(), to: SqliteReader::FORMAT })
}

/// Brings a file to today's format, as opening it with [`SqliteSaver`](crate::SqliteSaver) does: in one
/// transaction, after which it has either the old format or the new one. Programs of an older version refuse it then;
/// [`backup`](super::backup()) it first if they are to go on.
///
/// The values of states are not touched. Whether those of all threads still fit a program is what its
/// `graph.check_threads()` tells.
///
/// # Errors
/// [`MaintenanceError::Store`] when the file cannot be read or written, or has a newer format.
pub fn migrate(file: impl Into<CheckpointFile>) -> Result<Migration, MaintenanceError> {
    let file = file.into();
    let migration = migration(file.clone())?;
    if migration.is_needed() {
        let options = SqliteOptions { keys: file.keys, limits: file.limits, ..SqliteOptions::new() };
        let file = File::new(Some(file.path), options);
        drop(file.open_writer()?);
    }
    Ok(migration)
}
