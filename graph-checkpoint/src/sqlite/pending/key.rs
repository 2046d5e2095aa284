//! The key of work, a thread and a base, and code that the tables of work share.

use rusqlite::Row;
use superstep_core::checkpoint::StoreError;

use crate::checksum::Checksum;
use crate::pending::Seen;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

/// The key of work: the row of a thread, and the sequence number of its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkKey {
    pub(crate) thread: i64,
    pub(crate) base: i64,
}

impl WorkKey {
    pub(crate) fn sum(self, table: &str) -> Checksum {
        Checksum::of(table).int(self.thread).int(self.base)
    }
}

impl Seen {
    /// Returns the key of the checkpoint's work.
    pub(crate) fn place(self) -> WorkKey {
        WorkKey { thread: self.worker, base: self.seq }
    }
}

/// A callback for each row of work. It receives the row's id, its key, and an error if the row is invalid.
pub(crate) type Visit<'v> = dyn FnMut(i64, WorkKey, Result<(), StoreError>) + 'v;

/// Reads every row of the query `sql`, whose first columns are its id and its key.
pub(crate) fn check_rows(
    connection: &Connection,
    sql: &str,
    check: impl Fn(&Row<'_>, WorkKey) -> Result<(), StoreError>,
    visit: &mut Visit<'_>,
) -> Result<(), StoreError> {
    let mut all = connection.prepare_cached(sql).map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let id = row.get(0).map_err(sqlite)?;
        let place = WorkKey { thread: row.get(1).map_err(sqlite)?, base: row.get(2).map_err(sqlite)? };
        visit(id, place, check(row, place));
    }
    Ok(())
}
