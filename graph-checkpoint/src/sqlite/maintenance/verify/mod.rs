//! Checks a file: every row by itself, and the references between rows.

mod branches;
mod checkpoints;
mod known;
mod manifests;
mod server;
mod tables;
mod versions;

use std::collections::HashSet;

use superstep_core::checkpoint::StoreError;

use crate::maintenance::{Counts, Finding, Unused, Verified};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::file::checkpoint_file::CheckpointFile;
use crate::sqlite::history::segment::Segments;
use crate::sqlite::sqlite_reader::SqliteReader;
use known::Known;

/// Reads all of a file of any format, and reports its problems. Checks every checksum, SQLite's own integrity check,
/// and all references between rows: parents, heads, versions of fields including their values, schemas and topologies,
/// long texts, the nodes and writes of each superstep, and the work on top.
///
/// Reads one consistent state of the file, and takes no lock for which a writer waits. It takes as long as reading all
/// states. A missing row to which nothing refers cannot be detected, such as the result of an unfinished task, or a
/// recorded effect; then that task runs again.
///
/// Damage to the log beside the file, `-wal`, cannot be detected either: SQLite reads the log up to the first page
/// whose checksum does not match, as after a crash during a write. If the log is damaged, truncated, deleted or from
/// another time, the latest steps are lost, and the rest is an older, valid state of the file.
///
/// An encrypted file can be verified with its keys, which prove that each text was written for its cell, or without
/// them, by checksums only.
///
/// # Errors
/// Returns [`StoreError::NotACheckpointFile`], [`StoreError::NewerFormat`], [`StoreError::Keys`] or [`StoreError::Io`],
/// and [`StoreError::Corrupt`] if nothing of a checkpoint file can be read, such as a truncated one. Other damage is no
/// error but a finding.
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
        check.server();
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

    /// Runs a check that reads a table. If the table cannot be read to its end, adds a finding.
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

/// Returns the text of an error about a row that the finding already names.
fn problem(error: StoreError) -> String {
    match error {
        StoreError::Corrupt { reason, .. } => reason,
        other => other.to_string(),
    }
}

impl Check<'_> {
    /// Ignores the error that keys are missing, if the file is read without them.
    fn ignore_unopened<T>(&self, read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match read {
            Err(StoreError::Keys { .. }) if self.connection.is_unopened() => Ok(None),
            other => other.map(Some),
        }
    }

    /// Adds a problem of a row of a checkpoint, or of one that belongs to it.
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
