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
//! state is there ([`Source::Pruned`](superstep_core::checkpoint::Source::Pruned)): past ends there, or goes on at an older
//! one that stays, where a branch begins.

mod cut;
mod keep;
mod past;

use std::time::Duration;

use rusqlite::backup::Backup;
use serde::Serialize;
use superstep_core::id::ThreadId;

use super::collect::{Collected, collect_in, collectable};
use super::error::CareError;
use super::writing::{Keyless, open, refuse_malformed};
use crate::checkpoint_file::CheckpointFile;
use crate::connection::Connection;
use crate::fault::sqlite;
use crate::file::snapshot;
use crate::sqlite_reader::SqliteReader;
use cut::Cut;

/// Which checkpoints stay. Whatever it says, the latest of each thread stay, and those where a branch begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    pub(super) last: Option<usize>,
    pub(super) since_ms: Option<u64>,
    pub(super) thread: Option<ThreadId>,
}

impl Retention {
    /// Everything stays.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The newest `count` checkpoints of each branch stay.
    #[must_use]
    pub fn keep_last(mut self, count: usize) -> Self {
        self.last = Some(count);
        self
    }

    /// Those stay that were made at this time or later, in milliseconds since 1970.
    #[must_use]
    pub fn keep_since(mut self, ms: u64) -> Self {
        self.since_ms = Some(ms);
        self
    }

    fn keeps_all(&self) -> bool {
        self.last.is_none() && self.since_ms.is_none()
    }

    /// Only what was written on this thread, and by its subgraphs, may go.
    #[must_use]
    pub fn only(mut self, thread: ThreadId) -> Self {
        self.thread = Some(thread);
        self
    }
}

/// What was pruned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Checkpoints that are gone, or of which only the state is left.
    pub checkpoints: u64,
    /// Threads of subgraphs that went with the checkpoints that ran them.
    pub threads: u64,
    /// How many bytes of texts less there are now, long texts left out: those are [`collect`](super::collect())ed.
    pub bytes: i64,
}

/// Tells what [`prune`] would do, and what [`collect`](super::collect()) would do after it: both are done to a temporary
/// copy of the file at `path`, which is gone afterwards.
///
/// # Errors
/// Those of [`prune`].
pub fn prunable(
    file: impl Into<CheckpointFile>,
    retention: &Retention,
) -> Result<(Pruned, Collected), CareError> {
    let file = file.into();
    if retention.keeps_all() {
        return Ok((Pruned::default(), collectable(file)?));
    }
    let copy = copy(file)?;
    let pruned = prune_in(&copy, retention, Duration::ZERO)?;
    Ok((pruned, collect_in(&copy, Duration::ZERO)?))
}

/// A copy of the file's state that is gone when it is closed.
fn copy(file: CheckpointFile) -> Result<Connection, CareError> {
    let path = file.path.clone();
    let reader = SqliteReader::open(file)?;
    if reader.format() != SqliteReader::FORMAT {
        let (found, current) = (reader.format(), SqliteReader::FORMAT);
        return Err(CareError::OlderFormat { path, found, current });
    }
    Ok(reader.read(|source| {
        refuse_malformed(source)?;
        let mut copy = rusqlite::Connection::open("").map_err(sqlite)?;
        let step = Backup::new(source, &mut copy).and_then(|backup| backup.step(-1));
        step.map_err(sqlite)?;
        reader.file().attach(copy)
    })?)
}

/// Prunes the threads of the file at `path`: checkpoints that are not to stay go, with what was emitted, with their work,
/// and with the threads of the subgraphs that their tasks ran. Those that stay have the values they had, and programs go
/// on from them.
///
/// Programs may use the file. It is written to in short transactions, each of which leaves a whole file; what somebody
/// begins to stand on meanwhile stays.
///
/// # Errors
/// [`CareError::Busy`] when somebody wrote for as long as `patience` says, [`CareError::OlderFormat`], and
/// [`CareError::Store`], when a row is damaged that is needed, or SQLite finds the file malformed. What was pruned before stays pruned.
pub fn prune(
    file: impl Into<CheckpointFile>,
    retention: &Retention,
    patience: Duration,
) -> Result<Pruned, CareError> {
    prune_in(&open(file.into(), Keyless::Refused, patience)?, retention, patience)
}

fn prune_in(connection: &Connection, retention: &Retention, patience: Duration) -> Result<Pruned, CareError> {
    let mut pruned = Pruned::default();
    if retention.keeps_all() {
        return Ok(pruned);
    }
    loop {
        let mut cut = snapshot(connection, |connection| Cut::plan(connection, retention))?;
        if cut.carry_out(connection, &mut pruned, patience)? {
            return Ok(pruned);
        }
        // Somebody began to stand on what was to go.
    }
}
