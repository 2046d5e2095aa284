//! The names that threads have for checkpoints: the table `named`, one row per name.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, Row, params};
use superstep_core::checkpoint::{CheckpointName, NamedCheckpoint, Naming, Source, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};

use crate::checksum::Checksum;
use crate::error::{corrupt, mismatch};
use crate::history::rows::ThreadRow;
use crate::sqlite::column::text;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::read::reader;

fn sum_of(thread: i64, name: &str, checkpoint: i64) -> i64 {
    Checksum::of("named").int(thread).text(name).int(checkpoint).finish()
}

/// Changes the names of a thread.
pub(crate) fn change(connection: &Connection, thread: &ThreadId, naming: &Naming) -> Result<(), StoreError> {
    let row = ThreadRow::find(connection, thread)?;
    let row = |missing: StoreError| row.ok_or(missing);
    match naming {
        Naming::Give { name, checkpoint } => {
            let missing =
                StoreError::NoCheckpoint { thread: thread.clone(), checkpoint: checkpoint.to_string() };
            let row = row(missing)?;
            let seen = reader::seen(connection, &row, *checkpoint)?;
            CheckpointRow::visit(connection, seen.seq, |row, _| match row.source {
                Source::Pruned => Err(StoreError::pruned(thread, row.id)),
                _ => Ok(()),
            })?;
            give(connection, &row, name, seen.seq)
        }
        Naming::Rename { from, to } => {
            let missing = || StoreError::no_name(thread, from);
            let row = row(missing())?;
            let seq = find(connection, row.id, from)?.ok_or_else(missing)?;
            give(connection, &row, to, seq)?;
            if from == to { Ok(()) } else { remove(connection, row.id, from).map(drop) }
        }
        Naming::Remove { name } => {
            let missing = || StoreError::no_name(thread, name);
            let row = row(missing())?;
            if remove(connection, row.id, name)? { Ok(()) } else { Err(missing()) }
        }
    }
}

/// Gives a checkpoint a name, unless it already has that name.
fn give(
    connection: &Connection,
    thread: &ThreadRow,
    name: &CheckpointName,
    seq: i64,
) -> Result<(), StoreError> {
    match find(connection, thread.id, name)? {
        Some(held) if held == seq => Ok(()),
        Some(held) => Err(StoreError::NameTaken {
            thread: thread.name.clone(),
            name: name.clone(),
            checkpoint: CheckpointRow::visit(connection, held, |row, _| Ok(row.id))?,
        }),
        None => keep(connection, thread.id, name, seq),
    }
}

/// Stores a new name of the thread.
pub(crate) fn keep(
    connection: &Connection,
    thread: i64,
    name: &CheckpointName,
    seq: i64,
) -> Result<(), StoreError> {
    let name = name.as_str();
    connection
        .prepare_cached("INSERT INTO named(thread, name, checkpoint, sum) VALUES(?, ?, ?, ?)")
        .and_then(|mut insert| insert.execute(params![thread, name, seq, sum_of(thread, name, seq)]))
        .map(drop)
        .map_err(sqlite)
}

fn remove(connection: &Connection, thread: i64, name: &CheckpointName) -> Result<bool, StoreError> {
    let removed = connection
        .prepare_cached("DELETE FROM named WHERE thread = ? AND name = ?")
        .and_then(|mut delete| delete.execute(params![thread, name.as_str()]));
    Ok(removed.map_err(sqlite)? > 0)
}

/// Returns the position of the checkpoint with this name on the thread.
pub(crate) fn find(
    connection: &Connection,
    thread: i64,
    name: &CheckpointName,
) -> Result<Option<i64>, StoreError> {
    let mut find = connection
        .prepare_cached("SELECT thread, name, checkpoint, sum FROM named WHERE thread = ? AND name = ?")
        .map_err(sqlite)?;
    let found = find.query_row(params![thread, name.as_str()], |row| Ok(read(row, 0))).optional();
    Ok(found.map_err(sqlite)?.transpose()?.map(|(_, _, seq)| seq))
}

/// Returns the names of a thread, in order, with the positions of their checkpoints.
pub(crate) fn of(connection: &Connection, thread: i64) -> Result<Vec<(CheckpointName, i64)>, StoreError> {
    let sql = "SELECT thread, name, checkpoint, sum FROM named WHERE thread = ? ORDER BY name";
    let mut all = connection.prepare_cached(sql).map_err(sqlite)?;
    let mut rows = all.query([thread]).map_err(sqlite)?;
    let mut names = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let (_, name, seq) = read(row, 0)?;
        names.push((name, seq));
    }
    Ok(names)
}

/// Returns the names of a thread, in order.
pub(crate) fn names(connection: &Connection, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError> {
    let Some(row) = ThreadRow::find(connection, thread)? else { return Ok(Vec::new()) };
    let named = of(connection, row.id)?.into_iter().map(|(name, seq)| {
        let checkpoint: CheckpointId = CheckpointRow::visit(connection, seq, |row, _| Ok(row.id))?;
        Ok(NamedCheckpoint { name, checkpoint })
    });
    named.collect()
}

/// Returns `true` if a thread has a name for a checkpoint.
pub(crate) fn is_named_by(connection: &Connection, thread: i64, seq: i64) -> Result<bool, StoreError> {
    Ok(of(connection, thread)?.iter().any(|(_, named)| *named == seq))
}

/// Returns the positions of named checkpoints, for the threads that `by` selects.
pub(crate) fn places(connection: &Connection, by: impl Fn(i64) -> bool) -> Result<BTreeSet<i64>, StoreError> {
    let mut all =
        connection.prepare_cached("SELECT thread, name, checkpoint, sum FROM named").map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    let mut places = BTreeSet::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let (thread, _, seq) = read(row, 0)?;
        if by(thread) {
            places.insert(seq);
        }
    }
    Ok(places)
}

/// Reads the row whose columns begin at `first`: the thread, the name, and the checkpoint's position.
fn read(row: &Row<'_>, first: usize) -> Result<(i64, CheckpointName, i64), StoreError> {
    let thread: i64 = row.get(first).map_err(sqlite)?;
    let name = text(row, first + 1)?;
    let seq: i64 = row.get(first + 2).map_err(sqlite)?;
    let place = format_args!("a name of thread row {thread}");
    if row.get::<_, i64>(first + 3).map_err(sqlite)? != sum_of(thread, name, seq) {
        return Err(mismatch(place));
    }
    Ok((thread, name.parse().map_err(|error| corrupt(place, error))?, seq))
}

/// Reads every row: `visit` receives its id, its thread, its checkpoint, and an error if the row is invalid.
pub(crate) fn check(
    connection: &Connection,
    mut visit: impl FnMut(i64, i64, i64, Result<(), StoreError>),
) -> Result<(), StoreError> {
    let sql = "SELECT id, thread, name, checkpoint, sum FROM named ORDER BY id";
    let mut all = connection.prepare_cached(sql).map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let get = |column| row.get(column).map_err(sqlite);
        visit(get(0)?, get(1)?, get(3)?, read(row, 1).map(drop));
    }
    Ok(())
}
