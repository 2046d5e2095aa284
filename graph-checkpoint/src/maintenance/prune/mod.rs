//! Older checkpoints go, and those that stay stand on their own.
//!
//! ```text
//! before     1 ◄── 2 ◄── 3 ◄── 4 ◄── 5 ◄── 6        field a: extended at 1, 2, 5; field b: set at 1
//! after                    ┌── 4 ◄── 5 ◄── 6        4: its state is left, as a map of versions
//!            1: b          2: a                     rows of no thread that hold versions: a is folded up to 2
//! ```
//!
//! A version that something refers to keeps its place, so no row that stays is rewritten, and what a running program
//! remembers of versions stays true. The parent of the oldest checkpoint that stays is left as one of which only the
//! state is there ([`Source::Pruned`](superstep_core::checkpoint::Source::Pruned)): past ends there, or goes on at an
//! older one that stays, where a branch begins.

mod cut;
mod past;
mod retention;
mod selection;

use std::time::Duration;

use rusqlite::backup::Backup;
use serde::Serialize;

use super::collect::{Collected, collect_in, collectable};
use super::error::MaintenanceError;
use super::writing::{Keyless, open, refuse_malformed};
use crate::connection::Connection;
use crate::error::sqlite;
use crate::file::checkpoint_file::CheckpointFile;
use crate::file::snapshot;
use crate::sqlite_reader::SqliteReader;
use cut::Cut;
pub(crate) use retention::Policy;
pub use retention::Retention;

/// The result of a pruning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Checkpoints that are gone, or of which only the state is left.
    pub checkpoints: u64,
    /// Threads of subgraphs that went with the checkpoints that ran them.
    pub threads: u64,
    /// The decrease of stored texts in bytes, without long texts, which [`collect`](super::collect()) deletes.
    pub bytes: i64,
}

/// Tells what [`prune`] would do, and what [`collect`](super::collect()) would do after it: both are done to a
/// temporary copy of the file at `path`, which is gone afterwards.
///
/// # Errors
/// Those of [`prune`].
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

/// A copy of the file's state that is gone when it is closed.
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

/// Prunes the threads of the file at `path`: checkpoints that are not to stay go, with what was emitted, with their
/// work, and with the threads of the subgraphs that their tasks ran. Those that stay have the values they had, and
/// programs go on from them.
///
/// Programs may use the file. It is written to in short transactions, each of which leaves a whole file; what somebody
/// begins to stand on meanwhile stays.
///
/// # Errors
/// [`MaintenanceError::Busy`] when somebody wrote for as long as `patience` says, [`MaintenanceError::OlderFormat`],
/// and [`MaintenanceError::Store`], when a row is damaged that is needed, or SQLite finds the file malformed. What was
/// pruned before stays pruned.
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

/// Prunes until `stop` says that it is enough; returns how many rows are left.
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
        // Somebody began to stand on what was to go.
    }
}
