//! Migration from an older format to the current one.

use serde::Serialize;

use crate::maintenance::MaintenanceError;
use crate::sqlite::file::File;
use crate::sqlite::file::checkpoint_file::CheckpointFile;
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::sqlite_reader::SqliteReader;

/// The formats before and after a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Migration {
    /// The format that the file has, or had.
    pub from: u32,
    /// The current format.
    pub to: u32,
}

impl Migration {
    /// Returns `true` if the two formats differ, so that a migration is needed.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.from != self.to
    }
}

/// Returns the migration that [`migrate`] would do, without changing the file.
///
/// # Errors
/// Returns [`MaintenanceError::Store`] if the file cannot be read, or has a newer format.
pub fn migration(file: impl Into<CheckpointFile>) -> Result<Migration, MaintenanceError> {
    Ok(Migration { from: SqliteReader::open_with(file.into(), true)?.format(), to: SqliteReader::FORMAT })
}

/// Migrates a file to the current format, as opening it with [`SqliteSaver`](crate::SqliteSaver) does: in one
/// transaction, after which it has either the old format or the new one. Programs of an older version cannot open it
/// any longer; make a [`backup`](super::backup()) first if they still need it.
///
/// The values of states do not change. A program checks with `graph.check_threads()` that all threads still fit its
/// state.
///
/// # Errors
/// Returns [`MaintenanceError::Store`] if the file cannot be read or written, or has a newer format.
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
