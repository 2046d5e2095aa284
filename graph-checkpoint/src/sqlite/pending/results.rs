//! Results and failures of the tasks of an unfinished superstep: the table `pending`, one row per task.

use rusqlite::{OptionalExtension, Row, params};
use superstep_core::checkpoint::{FailureRecord, StoreError, TaskResult};
use superstep_core::id::TaskId;

use crate::encryption::Cell;
use crate::error::{corrupt, mismatch};
use crate::pending::{Pending, encode_failure};
use crate::pending::{Seen, encode};
use crate::sqlite::column::text;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::pending::key::{Visit, WorkKey, check_rows};

/// Returns the results and failures of the tasks on top of a checkpoint.
pub(crate) fn pending(
    connection: &Connection,
    seen: Seen,
) -> Result<(Vec<TaskResult>, Vec<FailureRecord>), StoreError> {
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    let place = seen.place();
    let mut find = connection
        .prepare_cached("SELECT task, text, sum FROM pending WHERE thread = ? AND base = ? ORDER BY id")
        .map_err(sqlite)?;
    let mut rows = find.query([place.thread, place.base]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let task = TaskId::from_bytes(row.get(0).map_err(sqlite)?);
        match parse(connection, place, task, text(row, 1)?, row.get(2).map_err(sqlite)?)? {
            Pending::Finished(result) => results.push(result),
            Pending::Failed(failure) => failures.push(failure),
        }
    }
    Ok((results, failures))
}

fn parse(
    connection: &Connection,
    place: WorkKey,
    task: TaskId,
    stored: &str,
    sum: i64,
) -> Result<Pending, StoreError> {
    let at = format_args!("the pending result of task {task}");
    if sum != sum_of(place, task, stored) {
        return Err(mismatch(at));
    }
    let text = connection.decrypt(stored, || cell(place, task))?;
    Pending::parse(&text).map_err(|error| corrupt(at, error))
}

/// Reads and checks every row.
pub(crate) fn check(connection: &Connection, visit: &mut Visit<'_>) -> Result<(), StoreError> {
    let sql = "SELECT id, thread, base, task, text, sum FROM pending ORDER BY id";
    let check = |row: &Row<'_>, place| {
        let task = TaskId::from_bytes(row.get(3).map_err(sqlite)?);
        parse(connection, place, task, text(row, 4)?, row.get(5).map_err(sqlite)?).map(drop)
    };
    check_rows(connection, sql, check, visit)
}

/// Returns the cell of a task's text.
pub(crate) fn cell(place: WorkKey, task: TaskId) -> Cell {
    Cell::of("pending", "text").int(place.thread).int(place.base).bytes(task.as_bytes())
}

pub(crate) fn sum_of(place: WorkKey, task: TaskId, stored: &str) -> i64 {
    place.sum("pending").bytes(task.as_bytes()).text(stored).finish()
}

/// The outcome of recording a task's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It was stored, and its task had none.
    New,
    /// It was stored, and completes the earlier result.
    Completed,
    /// It was already stored.
    Already,
    /// Another result of the task was already stored.
    Another,
}

/// Stores a result, unless its task already has one.
pub(crate) fn record(
    connection: &Connection,
    place: WorkKey,
    result: &TaskResult,
) -> Result<Kept, StoreError> {
    let stored = encode(result)?;
    if insert(connection, place, result.task, &stored)? {
        return Ok(Kept::New);
    }
    let mut held = match held(connection, place, result.task)? {
        Pending::Finished(held) if held == *result => return Ok(Kept::Already),
        Pending::Finished(held) => held,
        Pending::Failed(_) => return update(connection, place, result.task, &stored).map(|()| Kept::New),
    };
    if held.targets.is_some() {
        return Ok(Kept::Another);
    }
    held.targets.clone_from(&result.targets);
    held.handled.clone_from(&result.handled);
    if held != *result {
        return Ok(Kept::Another);
    }
    update(connection, place, result.task, &stored).map(|()| Kept::Completed)
}

/// Stores the failure of a task, unless the task has a result.
pub(crate) fn fail(
    connection: &Connection,
    place: WorkKey,
    failure: &FailureRecord,
) -> Result<(), StoreError> {
    let stored = encode_failure(failure)?;
    if insert(connection, place, failure.task, &stored)? {
        return Ok(());
    }
    match held(connection, place, failure.task)? {
        Pending::Finished(_) => Ok(()),
        Pending::Failed(_) => update(connection, place, failure.task, &stored),
    }
}

/// Adds a task's row; returns `false` if there is one.
fn insert(connection: &Connection, place: WorkKey, task: TaskId, text: &str) -> Result<bool, StoreError> {
    let stored = connection.encrypt(text, || cell(place, task))?;
    let inserted = connection
        .prepare_cached(
            "INSERT INTO pending(thread, base, task, text, sum) VALUES(?, ?, ?, ?, ?) \
             ON CONFLICT DO NOTHING",
        )
        .and_then(|mut insert| {
            let sum = sum_of(place, task, &stored);
            insert.execute(params![place.thread, place.base, task.as_bytes(), stored, sum])
        })
        .map_err(sqlite)?;
    Ok(inserted == 1)
}

fn update(connection: &Connection, place: WorkKey, task: TaskId, text: &str) -> Result<(), StoreError> {
    let stored = connection.encrypt(text, || cell(place, task))?;
    connection
        .prepare_cached("UPDATE pending SET text = ?, sum = ? WHERE thread = ? AND base = ? AND task = ?")
        .and_then(|mut update| {
            let sum = sum_of(place, task, &stored);
            update.execute(params![stored, sum, place.thread, place.base, task.as_bytes()])
        })
        .map(drop)
        .map_err(sqlite)
}

/// Returns a task's row, which must exist.
fn held(connection: &Connection, place: WorkKey, task: TaskId) -> Result<Pending, StoreError> {
    let held: Option<(String, i64)> = connection
        .prepare_cached("SELECT text, sum FROM pending WHERE thread = ? AND base = ? AND task = ?")
        .and_then(|mut find| {
            let key = params![place.thread, place.base, task.as_bytes()];
            find.query_row(key, |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(sqlite)?;
    let missing = || corrupt("the index on pending results", "it names a row that is missing");
    let (stored, sum) = held.ok_or_else(missing)?;
    parse(connection, place, task, &stored, sum)
}
