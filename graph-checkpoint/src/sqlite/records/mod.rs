//! The rows of a server, in the file of the checkpoints: its threads, runs, assistants, schedules and events.
//!
//! ```text
//! server_thread ◄── server_tag             hashes of its metadata's scalar entries, for searches
//!        ▲
//!        ├── server_run ◄── server_queue   the request of a run, and the state of its execution
//!        ├── server_cron
//!        └── server_event, server_expiring
//! server_assistant                         one row per version
//! ```
//!
//! A row has columns by which it is found, and one text, encrypted like all texts of the file, with the rest. The code
//! of [`life`](superstep_core::records::life) decides; these modules read and write.

mod assistants;
mod events;
mod runs;
mod search;
mod sqlite_records;
mod table;
mod tags;
mod threads;

use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;

use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

pub(crate) use events::check_expiring;
pub(crate) use sqlite_records::SqliteRecords;
pub(crate) use table::Table;
pub(crate) use tags::{Digests, Tags, all as all_tags};

/// The tables with texts.
pub(crate) const TABLES: [&Table; 6] =
    [&threads::TABLE, &runs::RUNS, &runs::QUEUE, &assistants::VERSIONS, &assistants::CRONS, &events::TABLE];

/// The statements that create the tables, for the migration to the format that has them.
pub(crate) const SCHEMA: &str = "
CREATE TABLE server_thread(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, graph TEXT, status TEXT NOT NULL, resting TEXT NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL, state_updated INTEGER NOT NULL, expires INTEGER,
    next_event INTEGER NOT NULL, text TEXT NOT NULL, sum INTEGER NOT NULL
) STRICT;
CREATE INDEX server_thread_created ON server_thread(created, name);
CREATE INDEX server_thread_updated ON server_thread(updated, name);
CREATE INDEX server_thread_state ON server_thread(state_updated, name);
CREATE INDEX server_thread_status ON server_thread(status, name);
CREATE INDEX server_thread_expires ON server_thread(expires) WHERE expires IS NOT NULL;
CREATE TABLE server_tag(
    digest BLOB NOT NULL, thread INTEGER NOT NULL, PRIMARY KEY(digest, thread)
) STRICT, WITHOUT ROWID;
CREATE TABLE server_run(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, thread INTEGER NOT NULL, text TEXT NOT NULL,
    sum INTEGER NOT NULL
) STRICT;
CREATE TABLE server_queue(
    id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, graph TEXT NOT NULL, status TEXT NOT NULL,
    not_before INTEGER NOT NULL, until INTEGER NOT NULL, attempt INTEGER NOT NULL, lost INTEGER NOT NULL,
    updated INTEGER NOT NULL, owner TEXT, cancel TEXT, next_call INTEGER, calls INTEGER NOT NULL,
    text TEXT NOT NULL, sum INTEGER NOT NULL
) STRICT;
CREATE INDEX server_queue_thread ON server_queue(thread, status, id);
CREATE INDEX server_queue_active ON server_queue(id, thread, graph, status, not_before, until, attempt)
    WHERE status IN ('pending', 'running');
CREATE INDEX server_queue_call ON server_queue(next_call, id)
    WHERE next_call NOT NULL AND status NOT IN ('pending', 'running');
CREATE TABLE server_assistant(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, version INTEGER NOT NULL, current INTEGER NOT NULL,
    text TEXT NOT NULL, sum INTEGER NOT NULL, UNIQUE(name, version)
) STRICT;
CREATE TABLE server_cron(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, thread INTEGER, text TEXT NOT NULL, sum INTEGER NOT NULL
) STRICT;
CREATE TABLE server_event(
    id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq INTEGER NOT NULL, run TEXT NOT NULL, at INTEGER NOT NULL,
    text TEXT NOT NULL, sum INTEGER NOT NULL, UNIQUE(thread, seq)
) STRICT;
CREATE TABLE server_expiring(
    thread INTEGER NOT NULL, run TEXT NOT NULL, at INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY(thread, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX server_expiring_at ON server_expiring(at);
";

/// The views that replace the tables in a file of an older format.
pub(crate) const NO_TABLES: &str = "
CREATE TEMP VIEW server_thread AS SELECT 0 AS id, '' AS name, NULL AS graph, '' AS status, '' AS resting, 0 AS created,
    0 AS updated, 0 AS state_updated, NULL AS expires, 0 AS next_event, '' AS text, 0 AS sum WHERE 0;
CREATE TEMP VIEW server_tag AS SELECT x'' AS digest, 0 AS thread WHERE 0;
CREATE TEMP VIEW server_run AS SELECT 0 AS id, '' AS name, 0 AS thread, '' AS text, 0 AS sum WHERE 0;
CREATE TEMP VIEW server_queue AS SELECT 0 AS id, 0 AS thread, '' AS graph, '' AS status, 0 AS not_before, 0 AS until,
    0 AS attempt, 0 AS lost, 0 AS updated, NULL AS owner, NULL AS cancel, NULL AS next_call, 0 AS calls,
    '' AS text, 0 AS sum WHERE 0;
CREATE TEMP VIEW server_assistant AS SELECT 0 AS id, '' AS name, 0 AS version, 0 AS current, '' AS text, 0 AS sum
    WHERE 0;
CREATE TEMP VIEW server_cron AS SELECT 0 AS id, '' AS name, NULL AS thread, '' AS text, 0 AS sum WHERE 0;
CREATE TEMP VIEW server_event AS SELECT 0 AS id, 0 AS thread, 0 AS seq, '' AS run, 0 AS at, '' AS text, 0 AS sum WHERE 0;
CREATE TEMP VIEW server_expiring AS SELECT 0 AS thread, '' AS run, 0 AS at, 0 AS sum WHERE 0;
";

/// Deletes the rows of a thread; returns `false` if there are none. Damaged rows are deleted, too.
pub(crate) fn delete_thread(connection: &Connection, thread: &ThreadId) -> Result<bool, StoreError> {
    let Some(id) = threads::id_of(connection, thread)? else { return Ok(false) };
    for sql in [
        "DELETE FROM server_run WHERE id IN (SELECT id FROM server_queue WHERE thread = ?)",
        "DELETE FROM server_queue WHERE thread = ?",
        "DELETE FROM server_cron WHERE thread = ?",
        "DELETE FROM server_event WHERE thread = ?",
        "DELETE FROM server_expiring WHERE thread = ?",
    ] {
        execute(connection, sql, [id])?;
    }
    threads::delete(connection, id)?;
    Ok(true)
}

fn execute(connection: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<usize, StoreError> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute(values)).map_err(sqlite)
}
