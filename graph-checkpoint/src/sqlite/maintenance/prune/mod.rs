//! Deletes older checkpoints, and keeps the data that the remaining checkpoints need.
//!
//! ```text
//! before     1 ◄── 2 ◄── 3 ◄── 4 ◄── 5 ◄── 6        field a: extended at 1, 2, 5; field b: set at 1
//! after                    ┌── 4 ◄── 5 ◄── 6        4: its state is left, as a map of versions
//!            1: b          2: a                     rows of no thread that hold versions: a is folded up to 2
//! ```
//!
//! A version that something refers to keeps its position, so no remaining row is rewritten, and versions that a running
//! program has cached stay valid. The parent of the oldest remaining checkpoint is reduced to its state
//! ([`Source::Pruned`](superstep_core::checkpoint::Source::Pruned)). The past ends there, or, where a branch begins,
//! continues at an older checkpoint that remains.

mod cut;
mod past;

use std::time::Duration;

use rusqlite::backup::Backup;

use super::collect::{collect_in, collectable};
use super::writing::{Keyless, open, refuse_malformed};
use crate::maintenance::{Collected, MaintenanceError, Pruned};
use crate::retention::{Policy, Retention};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::file::checkpoint_file::CheckpointFile;
use crate::sqlite::file::snapshot;
use crate::sqlite::sqlite_reader::SqliteReader;
use cut::Cut;

/// Returns the amounts that [`prune`] would delete, and [`collect`](super::collect()) after it. Both run on a temporary
/// copy of the file at `path`, which is deleted afterwards.
///
/// # Errors
/// Returns the errors of [`prune`].
pub fn prunable(
    file: impl Into<CheckpointFile>,
    retention: &Retention,
) -> Result<(Pruned, Collected), MaintenanceError> {
    let file = file.into();
    if retention.keeps_all() {
        return Ok((Pruned::default(), collectable(file)?));
    }
    let copy = copy(file)?;
    let mut pruned = Pruned::default();
    prune_in(&copy, &retention.clone().into(), &mut pruned, Duration::ZERO, &|| false)?;
    Ok((pruned, collect_in(&copy, Duration::ZERO)?))
}

/// Returns a connection to a copy of the file's state, which is deleted when the connection is closed.
fn copy(file: CheckpointFile) -> Result<Connection, MaintenanceError> {
    let path = file.path.clone();
    let reader = SqliteReader::open(file)?;
    if reader.format() != SqliteReader::FORMAT {
        let (found, current) = (reader.format(), SqliteReader::FORMAT);
        return Err(MaintenanceError::OlderFormat { path, found, current });
    }
    Ok(reader.read(|source| {
        refuse_malformed(source)?;
        let mut copy = rusqlite::Connection::open("").map_err(sqlite)?;
        let step = Backup::new(source, &mut copy).and_then(|backup| backup.step(-1));
        step.map_err(sqlite)?;
        reader.file().attach(copy)
    })?)
}

/// Prunes the threads of the file at `path`: deletes the checkpoints that the retention does not keep, with their
/// emitted events, their work, and the threads of the subgraphs that their tasks ran. The remaining checkpoints keep
/// their values, and programs can continue from them.
///
/// Programs may use the file. Each short transaction leaves a consistent file. Checkpoints from which another program
/// continues in the meantime are kept.
///
/// # Errors
/// Returns [`MaintenanceError::Busy`] if other programs wrote for longer than `patience`,
/// [`MaintenanceError::OlderFormat`], and [`MaintenanceError::Store`] if a required row is damaged or SQLite finds the
/// file malformed. Data that was pruned before the error stays pruned.
pub fn prune(
    file: impl Into<CheckpointFile>,
    retention: &Retention,
    patience: Duration,
) -> Result<Pruned, MaintenanceError> {
    let connection = open(file.into(), Keyless::Refused, patience)?;
    let mut pruned = Pruned::default();
    prune_in(&connection, &retention.clone().into(), &mut pruned, patience, &|| false)?;
    Ok(pruned)
}

/// Prunes until `stop` returns `true`; returns the number of remaining rows.
pub(super) fn prune_in(
    connection: &Connection,
    policy: &Policy,
    pruned: &mut Pruned,
    patience: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<u64, MaintenanceError> {
    if policy.keeps_all() {
        return Ok(0);
    }
    loop {
        let mut cut = snapshot(connection, |connection| Cut::plan(connection, policy))?;
        if cut.carry_out(connection, pruned, patience, stop)? {
            return Ok(cut.len());
        }
        // Another program has begun to use a row that was to be deleted.
    }
}
