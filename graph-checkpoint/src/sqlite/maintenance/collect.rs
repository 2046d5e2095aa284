//! Deletes unreferenced data.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use rusqlite::Row;
use superstep_core::checkpoint::StoreError;

use super::writing::{Keyless, open, refuse_malformed, write};
use crate::maintenance::{Collected, MaintenanceError};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::file::checkpoint_file::CheckpointFile;
use crate::sqlite::history::long_texts::BODY_BYTES;
use crate::sqlite::history::row_texts::REFERRING;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::history::segment::{SEGMENT, Segment};
use crate::sqlite::sqlite_reader::SqliteReader;
use crate::sqlite::write::delete::{references, segments};

/// A table of work.
struct Work {
    table: &'static str,
    /// The SQL condition for rows `w` whose checkpoint does not exist.
    lost: &'static str,
    /// The column with the outcome of the work. Work without an outcome is visible only on the latest checkpoint of its
    /// thread.
    end: Option<&'static str>,
    /// The SQL expression for the bytes of a row's texts.
    bytes: &'static str,
}

/// The tables of work. Results of tasks have no outcome column: they are kept, to be inspected.
const WORK: [Work; 5] = [
    Work { table: "pending", lost: LOST, end: None, bytes: "octet_length(text)" },
    Work {
        table: "ask",
        lost: LOST,
        end: Some("answer"),
        bytes: "octet_length(text) + coalesce(octet_length(fallback), 0) + coalesce(octet_length(answer), 0)",
    },
    Work {
        table: "effect",
        lost: LOST,
        end: Some("outcome"),
        bytes: "octet_length(name) + octet_length(key) + coalesce(octet_length(outcome), 0)",
    },
    Work {
        table: "emitted",
        lost: "NOT EXISTS (SELECT 1 FROM checkpoint c WHERE c.seq = w.checkpoint AND c.thread <> 0)",
        end: None,
        bytes: "octet_length(text)",
    },
    Work {
        table: "server_event",
        lost: "EXISTS (SELECT 1 FROM server_expiring e WHERE e.thread = w.thread AND e.run = w.run \
               AND e.at <= unixepoch('subsec') * 1000) OR NOT EXISTS (SELECT 1 FROM server_expiring e WHERE e.thread = w.thread AND e.run = w.run) \
               AND NOT EXISTS (SELECT 1 FROM server_run r WHERE r.name = w.run)",
        end: None,
        bytes: "octet_length(text)",
    },
];

/// The SQL condition for rows `e` of `server_expiring` whose time has come.
const EXPIRED: &str = "e.at <= unixepoch('subsec') * 1000";

const LOST: &str = "NOT EXISTS (SELECT 1 FROM thread t WHERE t.id = w.thread) \
                    OR NOT EXISTS (SELECT 1 FROM checkpoint c WHERE c.seq = w.base AND c.thread <> 0)";
const PASSED: &str = "NOT EXISTS (SELECT 1 FROM thread t WHERE t.id = w.thread AND t.head = w.base)";

impl Work {
    /// Returns the SQL condition for rows that no reader sees.
    fn unseen(&self) -> String {
        let lost = self.lost;
        self.end.map_or_else(|| lost.into(), |end| format!("{lost} OR (w.{end} IS NULL AND {PASSED})"))
    }
}

/// The SQL condition for empty rows of deletions, except the latest: that one prevents its number from being used
/// again.
const PLACES: &str = "thread = 0 AND changes = '[]' AND seq < (SELECT max(seq) FROM checkpoint)";

/// The SQL condition for entries of the index on ids that refer to no checkpoint.
const STRAY: &str = "NOT EXISTS (SELECT 1 FROM checkpoint c WHERE c.seq = locator.seq)";

/// The maximum number of long texts that are deleted in one transaction, so that writers do not wait for long.
const AT_A_TIME: usize = 256;

/// Returns the amounts that [`collect`] would delete from the file at `path`, which may have any format. Does not
/// change the file.
///
/// # Errors
/// Returns [`StoreError::Corrupt`] if the file is malformed or if rows that refer to long texts cannot be read, and the
/// errors of opening the file.
pub fn collectable(file: impl Into<CheckpointFile>) -> Result<Collected, MaintenanceError> {
    let told = SqliteReader::open(file)?.read(|connection| {
        refuse_malformed(connection)?;
        let mut told = small(connection)?;
        let unused = Unused::find(connection)?;
        told.bodies = unused.bodies.len() as u64;
        told.segments = unused.segments.len() as u64;
        told.bytes += unused.bodies.values().chain(unused.segments.values()).sum::<u64>();
        Ok(told)
    })?;
    Ok(told)
}

/// Deletes unreferenced data from the file at `path`. No thread, checkpoint, value or result changes.
///
/// Programs may use the file: the work is done in short transactions, and data that they begin to refer to in the
/// meantime is kept. Schemas and topologies of graphs are always kept: they are small, and a program that has just
/// started relies on its own. The file keeps its size until [`vacuum`](super::vacuum()).
///
/// # Errors
/// Returns [`MaintenanceError::Busy`] if other programs wrote for longer than `patience`,
/// [`MaintenanceError::OlderFormat`], and [`MaintenanceError::Store`], also if SQLite finds the file malformed before
/// anything is written. Data that was deleted before the error stays deleted.
pub fn collect(file: impl Into<CheckpointFile>, patience: Duration) -> Result<Collected, MaintenanceError> {
    collect_in(&open(file.into(), Keyless::Refused, patience)?, patience)
}

pub(super) fn collect_in(connection: &Connection, patience: Duration) -> Result<Collected, MaintenanceError> {
    let mut told = write(connection, patience, |connection| {
        let told = small(connection)?;
        for work in &WORK {
            execute(connection, &format!("DELETE FROM {} AS w WHERE {}", work.table, work.unseen()))?;
        }
        execute(connection, &format!("DELETE FROM checkpoint WHERE {PLACES}"))?;
        execute(connection, &format!("DELETE FROM locator WHERE {STRAY}"))?;
        execute(connection, &format!("DELETE FROM server_expiring AS e WHERE {EXPIRED}"))?;
        Ok(told)
    })?;
    collect_unused(connection, &mut told, patience)?;
    Ok(told)
}

/// Deletes shared data to which nothing refers.
pub(super) fn collect_unused(
    connection: &Connection,
    told: &mut Collected,
    patience: Duration,
) -> Result<(), MaintenanceError> {
    // Unused data is searched without a lock, and checked again with one.
    let mut unused = crate::sqlite::file::snapshot(connection, Unused::find)?;
    let found: Vec<i64> = unused.segments.keys().copied().collect();
    for some in found.chunks(AT_A_TIME) {
        write(connection, patience, |connection| {
            for id in some {
                execute(connection, &format!("DELETE FROM segment WHERE id = {id}"))?;
                told.segments += 1;
                told.bytes += unused.segments[id];
            }
            Ok(())
        })?;
    }
    let found: Vec<i64> = unused.bodies.keys().copied().collect();
    for some in found.chunks(AT_A_TIME) {
        write(connection, patience, |connection| {
            unused.spare_newly_used(connection)?;
            let mut delete = connection.prepare_cached("DELETE FROM body WHERE id = ?").map_err(sqlite)?;
            for id in some {
                if let Some(bytes) = unused.bodies.remove(id) {
                    delete.execute([id]).map_err(sqlite)?;
                    told.bodies += 1;
                    told.bytes += bytes;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Counts the unreferenced data other than long texts and segments.
fn small(connection: &Connection) -> Result<Collected, StoreError> {
    let mut told = Collected::default();
    for work in &WORK {
        let (Work { table, bytes, .. }, unseen) = (work, work.unseen());
        let sql = format!("SELECT count(*), coalesce(sum({bytes}), 0) FROM {table} AS w WHERE {unseen}");
        let (rows, bytes) = counted(connection, &sql)?;
        told.work += rows;
        told.bytes += bytes;
    }
    let (places, _) = counted(connection, &format!("SELECT count(*), 0 FROM checkpoint WHERE {PLACES}"))?;
    // An entry that refers to an empty row refers to nothing once that row is deleted.
    let stray = format!(
        "SELECT count(*), 0 FROM locator WHERE {STRAY} OR locator.seq IN (SELECT seq FROM checkpoint WHERE {PLACES})"
    );
    let (stray, _) = counted(connection, &stray)?;
    let expired = format!("SELECT count(*), 0 FROM server_expiring AS e WHERE {EXPIRED}");
    let (expired, _) = counted(connection, &expired)?;
    told.remains = places + stray + expired;
    Ok(told)
}

fn counted(connection: &Connection, sql: &str) -> Result<(u64, u64), StoreError> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let (rows, bytes) = connection.query_row(sql, [], read).map_err(sqlite)?;
    Ok((rows.unsigned_abs(), bytes.unsigned_abs()))
}

fn execute(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.execute(sql, []).map(drop).map_err(sqlite)
}

/// Long texts and segments that nothing refers to, with their sizes in bytes, as of a position in the store's order and
/// a segment number.
struct Unused {
    bodies: BTreeMap<i64, u64>,
    segments: BTreeMap<i64, u64>,
    seen: i64,
    seen_segment: i64,
}

/// Reads the texts of a row that may refer to long texts.
type Referring = for<'r> fn(&Connection, &'r Row<'_>) -> Result<[Cow<'r, str>; 2], StoreError>;

impl Unused {
    fn find(connection: &Connection) -> Result<Self, StoreError> {
        let all = |sql: &str| -> Result<BTreeMap<i64, u64>, StoreError> {
            let mut all = connection.prepare(sql).map_err(sqlite)?;
            let rows = all.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())));
            rows.map_err(sqlite)?.collect::<Result<_, _>>().map_err(sqlite)
        };
        let mut segments_there = all(
            "SELECT id, octet_length(ends) + octet_length(text) + coalesce(octet_length(whole), 0) FROM segment",
        )?;
        let mut changes =
            connection.prepare(&format!("SELECT {REFERRING} FROM checkpoint")).map_err(sqlite)?;
        let mut rows = changes.query([]).map_err(sqlite)?;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let [changes, _] = CheckpointRow::unchecked(connection, row)?;
            for used in segments(&changes) {
                segments_there.remove(&used);
            }
        }
        let bodies = all(BODY_BYTES)?;
        let mut unused = Self { bodies, segments: segments_there, seen: -1, seen_segment: -1 };
        unused.spare_newly_used(connection)?;
        Ok(unused)
    }

    /// Removes the long texts to which checkpoints and segments refer that were written in the meantime, except
    /// segments that are deleted too. Older rows refer to nothing new: if their operations are moved to a segment, that
    /// segment is new. And nothing begins to refer to an older segment.
    fn spare_newly_used(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut used = HashSet::new();
        let unused = &self.segments;
        let mut each = |from: &str, seen: &mut i64, texts: Referring, goes: &dyn Fn(i64) -> bool| {
            let mut newer = connection.prepare_cached(from).map_err(sqlite)?;
            let mut rows = newer.query([*seen]).map_err(sqlite)?;
            while let Some(row) = rows.next().map_err(sqlite)? {
                *seen = row.get(0).map_err(sqlite)?;
                if !goes(*seen) {
                    texts(connection, row)?.iter().for_each(|text| used.extend(references(text)));
                }
            }
            Ok::<(), StoreError>(())
        };
        let checkpoints = format!("SELECT {REFERRING} FROM checkpoint WHERE seq > ? ORDER BY seq");
        each(&checkpoints, &mut self.seen, CheckpointRow::unchecked, &|_| false)?;
        let segments = format!("SELECT {SEGMENT} FROM segment WHERE id > ? ORDER BY id");
        each(&segments, &mut self.seen_segment, Segment::unchecked, &|id| unused.contains_key(&id))?;
        self.bodies.retain(|id, _| !used.contains(id));
        Ok(())
    }
}
