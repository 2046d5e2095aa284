//! Writes to a file that programs use at the same time.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Transaction, TransactionBehavior};
use superstep_core::checkpoint::StoreError;

use crate::error::corrupt;
use crate::maintenance::MaintenanceError;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::{is_busy, sqlite};
use crate::sqlite::file::File;
use crate::sqlite::file::checkpoint_file::CheckpointFile;
use crate::sqlite::file::wait_queue::WaitQueue;
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::sqlite_reader::SqliteReader;

/// The rule for writing to an encrypted file without its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyless {
    /// Texts are not read.
    Allowed,
    /// Texts are read, so a missing key is an error.
    Refused,
}

/// Opens an existing file of the current format, and checks that it is not malformed. Waits up to `patience` for other
/// writers.
pub(super) fn open(
    file: CheckpointFile,
    keyless: Keyless,
    patience: Duration,
) -> Result<Connection, MaintenanceError> {
    let unopened = keyless == Keyless::Allowed;
    let CheckpointFile { path, keys, limits } = file.clone();
    let reader = SqliteReader::open_with(file, unopened)?;
    let (found, current) = (reader.format(), SqliteReader::FORMAT);
    if found != current {
        return Err(MaintenanceError::OlderFormat { path, found, current });
    }
    reader.read(refuse_malformed)?;
    let options = SqliteOptions { keys, limits, unopened, ..SqliteOptions::new().busy_limit(patience) };
    let file = File::new(Some(path), options);
    let connection = file.open_writer().map_err(|error| waited(error, patience))?;
    connection.busy_timeout(patience).map_err(sqlite)?;
    Ok(connection)
}

/// Reads all pages once. A change that relies on malformed pages could delete needed data.
pub(super) fn refuse_malformed(connection: &Connection) -> Result<(), StoreError> {
    let found = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    let found = match found.map_err(sqlite) {
        Ok(found) if found == "ok" => return Ok(()),
        Ok(found) => found.lines().filter(|line| !line.starts_with("***")).collect::<Vec<_>>().join("; "),
        Err(StoreError::Corrupt { reason, .. }) => reason,
        Err(other) => return Err(other),
    };
    Err(corrupt(
        "the file",
        format_args!("{found}; nothing was written, `superstep verify` tells all that is wrong"),
    ))
}

/// Runs `work`, which should be short, in one transaction.
pub(super) fn write<T>(
    connection: &Connection,
    patience: Duration,
    work: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, MaintenanceError> {
    let transaction = begin(connection, patience)?;
    let done = work(connection)?;
    transaction.commit().map_err(|error| failed(error, patience))?;
    Ok(done)
}

/// Begins a transaction, after waiting for a turn.
pub(super) fn begin(
    connection: &Connection,
    patience: Duration,
) -> Result<Transaction<'_>, MaintenanceError> {
    in_turn(connection, patience, || {
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(sqlite)
    })
}

/// Makes an attempt that needs the write lock, after waiting for a turn.
pub(super) fn in_turn<T>(
    connection: &Connection,
    patience: Duration,
    attempt: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, MaintenanceError> {
    // A temporary database has no name.
    let path = connection.path().filter(|path| !path.is_empty());
    let mut wait_queue = WaitQueue::at(path.map(Path::new));
    wait_queue.in_turn(connection, patience, attempt).map_err(|error| waited(error, patience))
}

/// Converts SQLite's error, and distinguishes locks of other programs from other problems.
pub(super) fn failed(error: rusqlite::Error, patience: Duration) -> MaintenanceError {
    if is_busy(&error) { MaintenanceError::Busy(patience) } else { sqlite(error).into() }
}

pub(super) fn waited(error: StoreError, patience: Duration) -> MaintenanceError {
    if matches!(error, StoreError::Busy) { MaintenanceError::Busy(patience) } else { error.into() }
}
