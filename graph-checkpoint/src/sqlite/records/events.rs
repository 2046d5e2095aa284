//! The tables `server_event`, the log of each thread, and `server_expiring`, the times at which events of runs expire.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params};
use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::records::{EventRow, life};
use superstep_core::state::Json;

use super::execute;
use super::table::{Stored, Table, stored, text, values};
use super::threads::{self, Held as Thread};
use crate::checksum::Checksum;
use crate::error::{corrupt, mismatch};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

pub(super) const TABLE: Table =
    Table { name: "server_event", plain: &["thread", "seq", "run", "at"], thread: Some(0) };

pub(super) fn reserve(connection: &Connection, thread: &ThreadId, count: u64) -> Result<u64, StoreError> {
    threads::reserve(connection, thread, |held| Ok(held.next_event.saturating_add(count)))
}

pub(super) fn release(
    connection: &Connection,
    thread: &ThreadId,
    next: u64,
    reserved_to: u64,
) -> Result<(), StoreError> {
    let released = |held: &Thread| {
        let mut last = connection
            .prepare_cached("SELECT max(seq) FROM server_event WHERE thread = ?")
            .map_err(sqlite)?;
        let last: Option<i64> = last.query_row([held.id], |row| row.get(0)).map_err(sqlite)?;
        Ok(life::release(held.next_event, next, reserved_to, last.map(i64::unsigned_abs)))
    };
    threads::reserve(connection, thread, released).map(drop)
}

pub(super) fn append(connection: &Connection, events: &[EventRow]) -> Result<(), StoreError> {
    let mut of: Option<(&ThreadId, i64)> = None;
    let mut rows = Vec::with_capacity(events.len());
    for event in events {
        let thread = match of {
            Some((thread, id)) if *thread == event.thread => id,
            _ => threads::id_of(connection, &event.thread)?
                .ok_or_else(|| StoreError::NoThread(event.thread.clone()))?,
        };
        of = Some((&event.thread, thread));
        rows.push((thread, event));
    }
    let mut next = TABLE.next_id(connection)?;
    for (thread, event) in rows {
        let seq = stored(event.seq);
        let there = connection
            .prepare_cached("SELECT id FROM server_event WHERE thread = ? AND seq = ?")
            .and_then(|mut find| find.query_row(params![thread, seq], |row| row.get(0)).optional())
            .map_err(sqlite)?;
        let id = there.unwrap_or(next);
        next = next.max(id + 1);
        let plain = vec![Value::Integer(thread), seq, text(&event.run), stored(event.at_ms)];
        TABLE.put(connection, id, plain, event.text.as_str())?;
    }
    Ok(())
}

pub(super) fn list(
    connection: &Connection,
    thread: &ThreadId,
    run: Option<&str>,
    after: Option<u64>,
    limit: usize,
) -> Result<Vec<EventRow>, StoreError> {
    let Some(id) = threads::id_of(connection, thread)? else { return Ok(Vec::new()) };
    let first = stored(after.map_or(0, |after| after.saturating_add(1)));
    let mut given = vec![Value::Integer(id), first];
    let of_run = match run {
        Some(run) => {
            given.push(text(run));
            "AND run = ?"
        }
        None => "",
    };
    given.push(stored(limit as u64));
    let mut events = Vec::new();
    let rest = format!("WHERE thread = ? AND seq >= ? {of_run} ORDER BY seq LIMIT ?");
    TABLE.each(connection, &rest, values(&given), |_, found| {
        events.push(event(&found?, thread)?);
        Ok(())
    })?;
    Ok(events)
}

fn event(found: &Stored, thread: &ThreadId) -> Result<EventRow, StoreError> {
    let damaged = |error| corrupt(format_args!("server_event row {}", found.id), error);
    Ok(EventRow {
        thread: thread.clone(),
        seq: found.count(1)?,
        run: found.optional_text(2).unwrap_or_default().into(),
        at_ms: found.count(3)?,
        text: Json::parse(found.text.as_str()).map_err(damaged)?,
    })
}

fn sum(thread: i64, run: &str, at: i64) -> i64 {
    Checksum::of("server_expiring").int(thread).text(run).int(at).finish()
}

pub(super) fn expire(
    connection: &Connection,
    thread: &ThreadId,
    run: &str,
    at_ms: u64,
) -> Result<(), StoreError> {
    let id = threads::id_of(connection, thread)?.ok_or_else(|| StoreError::NoThread(thread.clone()))?;
    let at = i64::try_from(at_ms).unwrap_or(i64::MAX);
    let sql = "INSERT OR REPLACE INTO server_expiring(thread, run, at, sum) VALUES(?, ?, ?, ?)";
    execute(connection, sql, params![id, run, at, sum(id, run, at)]).map(drop)
}

/// Deletes the expired events.
pub(super) fn sweep(connection: &Connection, now_ms: u64) -> Result<(), StoreError> {
    let now = i64::try_from(now_ms).unwrap_or(i64::MAX);
    let due: Vec<(i64, String)> = connection
        .prepare_cached("SELECT thread, run FROM server_expiring WHERE at <= ?")
        .and_then(|mut due| due.query_map([now], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .map_err(sqlite)?;
    for (thread, run) in due {
        delete_of_run(connection, thread, &run)?;
    }
    execute(connection, "DELETE FROM server_expiring WHERE at <= ?", [now]).map(drop)
}

/// Returns `true` if [`sweep`] has something to delete.
pub(super) fn is_due(connection: &Connection, now_ms: u64) -> Result<bool, StoreError> {
    let now = i64::try_from(now_ms).unwrap_or(i64::MAX);
    connection
        .prepare_cached("SELECT 1 FROM server_expiring WHERE at <= ?")
        .and_then(|mut find| find.exists([now]))
        .map_err(sqlite)
}

pub(super) fn delete_of_run(connection: &Connection, thread: i64, run: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM server_event WHERE thread = ? AND run = ?";
    execute(connection, sql, params![thread, run]).map(drop)
}

/// Reads every row of `server_expiring`: `visit` receives its thread, and an error if it is damaged.
pub(crate) fn check_expiring(
    connection: &Connection,
    mut visit: impl FnMut(i64, Result<(), StoreError>),
) -> Result<(), StoreError> {
    let mut all = connection.prepare("SELECT thread, run, at, sum FROM server_expiring").map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let (thread, at): (i64, i64) = (row.get(0).map_err(sqlite)?, row.get(2).map_err(sqlite)?);
        let run = crate::sqlite::column::text(row, 1)?;
        let sound = row.get::<_, i64>(3).map_err(sqlite)? == sum(thread, run, at);
        visit(thread, if sound { Ok(()) } else { Err(mismatch("a row of server_expiring")) });
    }
    Ok(())
}
