//! The ends of branches that the heads of their threads have left: the table `branch`, one row per end.
//!
//! No newer row refers to such a checkpoint, so without these rows a thread's checkpoints could be found only by
//! reading those of all threads. With them, each checkpoint is in the past of the thread's head, of a named checkpoint,
//! or of an end.

use rusqlite::{Connection as Sqlite, Row, params};
use superstep_core::checkpoint::StoreError;

use crate::checksum::Checksum;
use crate::error::mismatch;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::rows::CheckpointRow;

/// Finds all checkpoints from a position on that no checkpoint of the same thread continues and that are not heads.
const ENDS: &str = "
SELECT c.thread, c.seq FROM checkpoint AS c JOIN thread AS t ON t.id = c.thread
WHERE c.seq >= ?1 AND c.seq <> t.head
AND (c.thread, c.seq) NOT IN (SELECT thread, parent FROM checkpoint WHERE seq > ?1 AND parent NOT NULL)";

/// The end of a branch: the thread on which it was written, and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) thread: i64,
    pub(crate) seq: i64,
}

impl End {
    fn sum(self) -> i64 {
        Checksum::of("branch").int(self.thread).int(self.seq).finish()
    }

    /// Stores the end, unless it is already stored.
    pub(crate) fn keep(self, connection: &Sqlite) -> Result<(), StoreError> {
        connection
            .prepare_cached("INSERT OR IGNORE INTO branch(thread, checkpoint, sum) VALUES(?, ?, ?)")
            .and_then(|mut insert| insert.execute(params![self.thread, self.seq, self.sum()]))
            .map(drop)
            .map_err(sqlite)
    }

    /// Removes the end; returns `false` if there was none.
    pub(crate) fn remove(self, connection: &Connection) -> Result<bool, StoreError> {
        connection
            .prepare_cached("DELETE FROM branch WHERE thread = ? AND checkpoint = ?")
            .and_then(|mut delete| delete.execute([self.thread, self.seq]))
            .map(|removed| removed > 0)
            .map_err(sqlite)
    }

    /// Reads a row. A row that the migration of an older file found has no checksum.
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        let end = Self { thread: row.get(0).map_err(sqlite)?, seq: row.get(1).map_err(sqlite)? };
        match row.get::<_, Option<i64>>(2).map_err(sqlite)? {
            Some(sum) if sum != end.sum() => {
                Err(mismatch(format_args!("an end of a branch of thread row {}", end.thread)))
            }
            _ => Ok(end),
        }
    }
}

/// Stores that the head of a thread moves away from the checkpoint at `head`, to continue from another one.
pub(crate) fn leave(
    connection: &Connection,
    thread: i64,
    head: i64,
    to: Option<i64>,
) -> Result<(), StoreError> {
    // If the head has not moved yet, it is another thread's checkpoint.
    if CheckpointRow::visit(connection, head, |row, _| Ok(row.thread))? == thread {
        End { thread, seq: head }.keep(connection)?;
    }
    to.map_or(Ok(()), |seq| End { thread, seq }.remove(connection).map(drop))
}

/// Returns the ends of the branches that a thread has left.
pub(crate) fn of(connection: &Connection, thread: i64) -> Result<Vec<i64>, StoreError> {
    let mut find = connection
        .prepare_cached("SELECT thread, checkpoint, sum FROM branch WHERE thread = ? ORDER BY checkpoint")
        .map_err(sqlite)?;
    let mut rows = find.query([thread]).map_err(sqlite)?;
    let mut ends = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        ends.push(End::read(row)?.seq);
    }
    Ok(ends)
}

/// Stores the ends of the threads that `is_meant` selects, if they are at `from` or newer.
pub(crate) fn find(connection: &Sqlite, from: i64, is_meant: impl Fn(i64) -> bool) -> Result<(), StoreError> {
    let mut find = connection.prepare(ENDS).map_err(sqlite)?;
    let read = |row: &Row<'_>| Ok(End { thread: row.get(0)?, seq: row.get(1)? });
    let ends = find.query_map([from], read).map_err(sqlite)?;
    let ends: Vec<End> = ends.collect::<Result<_, _>>().map_err(sqlite)?;
    ends.into_iter().filter(|end| is_meant(end.thread)).try_for_each(|end| end.keep(connection))
}

/// Reads every row, and calls `visit` with its end or the error.
pub(crate) fn check(
    connection: &Connection,
    mut visit: impl FnMut(Result<End, StoreError>),
) -> Result<(), StoreError> {
    let sql = "SELECT thread, checkpoint, sum FROM branch ORDER BY thread, checkpoint";
    let mut all = connection.prepare_cached(sql).map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        visit(End::read(row));
    }
    Ok(())
}
