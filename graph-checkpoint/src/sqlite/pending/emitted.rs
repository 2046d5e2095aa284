//! The table `emitted`: the events that the tasks of a superstep emitted, one row per task, beside the checkpoint's
//! row.
//!
//! Runs that do not keep these events write no rows.

use rusqlite::{Row, params};
use superstep_core::checkpoint::{Emitted, StoreError};

use crate::checksum::Checksum;
use crate::encryption::Cell;
use crate::error::{corrupt, mismatch};
use crate::pending::encode;
use crate::sqlite::column::text;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

/// Returns the cell of the events of a task.
pub(crate) fn cell(seq: i64, task: u32) -> Cell {
    Cell::of("emitted", "text").int(seq).int(i64::from(task))
}

pub(crate) fn sum_of(seq: i64, task: u32, stored: &str) -> i64 {
    Checksum::of("emitted").int(seq).int(i64::from(task)).text(stored).finish()
}

/// Stores the events that the tasks of the checkpoint at `seq` emitted.
pub(crate) fn keep(connection: &Connection, seq: i64, emitted: &[(u32, Emitted)]) -> Result<(), StoreError> {
    emitted.iter().try_for_each(|(task, emitted)| {
        let text = encode(emitted)?;
        let stored = connection.encrypt(&text, || cell(seq, *task))?;
        connection
            .prepare_cached("INSERT INTO emitted(checkpoint, task, text, sum) VALUES(?, ?, ?, ?)")
            .and_then(|mut insert| insert.execute(params![seq, task, stored, sum_of(seq, *task, &stored)]))
            .map(drop)
            .map_err(sqlite)
    })
}

/// Returns the events that the tasks of the checkpoint at `seq` emitted, by the tasks' positions.
pub(crate) fn of(connection: &Connection, seq: i64) -> Result<Vec<(u32, Emitted)>, StoreError> {
    let mut find = connection
        .prepare_cached("SELECT task, text, sum FROM emitted WHERE checkpoint = ? ORDER BY task")
        .map_err(sqlite)?;
    let mut rows = find.query([seq]).map_err(sqlite)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        all.push(read(connection, row, 0, seq)?);
    }
    Ok(all)
}

/// Reads the row whose columns begin at `first`.
fn read(
    connection: &Connection,
    row: &Row<'_>,
    first: usize,
    seq: i64,
) -> Result<(u32, Emitted), StoreError> {
    let task: u32 = row.get(first).map_err(sqlite)?;
    let stored = text(row, first + 1)?;
    let place = format_args!("what task {task} of checkpoint row {seq} emitted");
    if row.get::<_, i64>(first + 2).map_err(sqlite)? != sum_of(seq, task, stored) {
        return Err(mismatch(place));
    }
    let text = connection.decrypt(stored, || cell(seq, task))?;
    Ok((task, serde_json::from_str(&text).map_err(|error| corrupt(place, error))?))
}

/// Reads every row: `visit` receives its id, the checkpoint, and an error if the row is invalid.
pub(crate) fn check(
    connection: &Connection,
    mut visit: impl FnMut(i64, i64, Result<(), StoreError>),
) -> Result<(), StoreError> {
    let sql = "SELECT id, checkpoint, task, text, sum FROM emitted ORDER BY id";
    let mut all = connection.prepare_cached(sql).map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let seq = row.get(1).map_err(sqlite)?;
        visit(row.get(0).map_err(sqlite)?, seq, read(connection, row, 2, seq).map(drop));
    }
    Ok(())
}
