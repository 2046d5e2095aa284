//! Checks that a file is sound: every row by itself, and how the rows fit together.

mod branches;
mod checkpoints;
mod known;
mod manifests;
mod tables;
mod versions;

use std::collections::HashSet;

use serde::Serialize;
use superstep_core::checkpoint::StoreError;
use superstep_core::id::{CheckpointId, ThreadId};

use crate::connection::Connection;
use crate::error::sqlite;
use crate::file::checkpoint_file::CheckpointFile;
use crate::history::segment::Segments;
use crate::sqlite_reader::SqliteReader;
use known::Known;

/// The result of a check: what was read of a file, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// The file's format.
    pub format: u32,
    /// `true` if the file is encrypted and was read without its keys. Then texts were checked by their checksums only,
    /// and what they refer to was not checked.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub unopened: bool,
    /// The numbers of rows that were read.
    pub counts: Counts,
    /// Data that nothing refers to, which is no damage.
    pub unused: Unused,
    /// Everything that is wrong, table by table.
    pub findings: Vec<Finding>,
}

impl Verified {
    /// Returns `true` if nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// The number of rows of each kind in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Threads, those of subgraphs and what deleted ones left among them.
    pub threads: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Versions of fields.
    pub versions: u64,
    /// Schemas of states.
    pub schemas: u64,
    /// Wirings of graphs.
    pub topologies: u64,
    /// Long texts.
    pub bodies: u64,
    /// Segments: the operations of many versions in one row.
    pub segments: u64,
    /// Results and failures of unfinished supersteps.
    pub pending: u64,
    /// Questions.
    pub asks: u64,
    /// Effects in the journal.
    pub effects: u64,
    /// Tasks whose events were kept.
    pub emitted: u64,
    /// Threads that somebody holds.
    pub leases: u64,
    /// Names of checkpoints.
    pub names: u64,
    /// Entries of the store.
    pub items: u64,
}

/// Data that nothing refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unused {
    /// Long texts.
    pub bodies: u64,
    /// Segments.
    pub segments: u64,
    /// The bytes of those.
    pub bytes: u64,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The table, or `file` for what SQLite itself finds.
    pub table: &'static str,
    /// The row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<i64>,
    /// The thread that it belongs to, where that can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The checkpoint that it belongs to, where that can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// A description of the problem.
    pub problem: String,
}

/// Reads everything that is in a file of any format, and tells what is wrong with it: every checksum,
/// SQLite's own check, and whether all that rows refer to is there and fits: parents, heads, versions of fields down to
/// their values, descriptions, long texts, the nodes and writes of each superstep, and the work on top.
///
/// It reads one consistent state of the file and takes no lock that a writer waits for. It takes as long as reading
/// all states does. What is missing without anything that refers to it, such as the result of a task that is not
/// finished, or an effect that was recorded, cannot be noticed; then that task runs again.
///
/// Nor is damage to the log beside the file, `-wal`: SQLite reads it up to the first page whose checksum does not
/// match, as after a crash in the middle of a write. When the log is damaged, truncated, removed or of another time,
/// the latest steps are gone, and what is left is an older state of the file, in which nothing is wrong.
///
/// An encrypted file is verified with its keys, by which each text is checked to be what was written at its place, or
/// without them, by checksums only.
///
/// # Errors
/// [`StoreError::NotACheckpointFile`], [`StoreError::NewerFormat`], [`StoreError::Keys`] and [`StoreError::Io`];
/// [`StoreError::Corrupt`] when it is a checkpoint file of which nothing can be read, such as the half of one. Other
/// damage is no error but a finding.
pub fn verify(file: impl Into<CheckpointFile>) -> Result<Verified, StoreError> {
    SqliteReader::open_with(file.into(), true)?.read(|connection| {
        let format = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(sqlite)?;
        let mut findings = Findings::default();
        match integrity(connection) {
            Ok(problems) => problems.iter().for_each(|problem| findings.add("file", None, problem)),
            Err(error) => findings.add("file", None, error),
        }
        let known = Known::of(connection, &mut findings);
        let mut check = Check {
            connection,
            known,
            findings,
            counts: Counts::default(),
            used: HashSet::new(),
            read: Segments::default(),
        };
        check.described();
        check.segments();
        check.threads();
        check.checkpoints();
        check.locators();
        check.work();
        check.leases();
        check.names();
        check.branches();
        check.items();
        let unused = check.unused();
        Ok(Verified {
            format,
            unopened: connection.is_unopened(),
            counts: check.counts,
            unused,
            findings: check.findings.into_inner(),
        })
    })
}

/// A check of a file, with its findings so far.
struct Check<'c> {
    connection: &'c Connection,
    known: Known,
    findings: Findings,
    counts: Counts,
    /// The long texts that something refers to.
    used: HashSet<i64>,
    /// The segments that were read last.
    read: Segments,
}

/// The findings so far.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, table: &'static str, row: Option<i64>, problem: impl ToString) {
        let problem = problem.to_string();
        self.0.push(Finding { table, row, thread: None, checkpoint: None, problem });
    }

    /// Runs a check that reads a table. When that cannot be read to its end, it says so.
    fn guard<T: Default>(&mut self, table: &'static str, check: impl FnOnce() -> Result<T, StoreError>) -> T {
        check().unwrap_or_else(|error| {
            self.add(table, None, format_args!("it cannot be read: {}", problem(error)));
            T::default()
        })
    }

    fn into_inner(self) -> Vec<Finding> {
        self.0
    }
}

/// Returns the text of an error about a row that is named already.
fn problem(error: StoreError) -> String {
    match error {
        StoreError::Corrupt { reason, .. } => reason,
        other => other.to_string(),
    }
}

impl Check<'_> {
    /// Leaves out of what is wrong that there are no keys.
    fn ignore_unopened<T>(&self, read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match read {
            Err(StoreError::Keys { .. }) if self.connection.is_unopened() => Ok(None),
            other => other.map(Some),
        }
    }

    /// Adds something that is wrong with a row of a checkpoint, or with one that belongs to it.
    fn found(&mut self, table: &'static str, row: i64, seq: i64, problem: impl ToString) {
        let known = self.known.checkpoints.get(&seq);
        let thread = known.and_then(|known| self.known.threads.get(&known.thread)).cloned();
        let checkpoint = known.map(|known| known.id);
        let problem = problem.to_string();
        self.findings.0.push(Finding { table, row: Some(row), thread, checkpoint, problem });
    }
}

/// Returns the problems that SQLite's own check finds.
fn integrity(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut lines = known::read(connection, "PRAGMA integrity_check", |row| row.get::<_, String>(0))?;
    lines.retain(|line| line != "ok");
    Ok(lines)
}
