//! The tables `server_assistant`, one row per version, and `server_cron`.

use rusqlite::types::Value;
use superstep_core::checkpoint::StoreError;
use superstep_core::records::{AssistantQuery, AssistantRow, CronQuery, CronRow, Found};

use super::table::{Stored, Table, stored, text};
use super::{execute, threads};
use crate::records::encode;
use crate::sqlite::connection::Connection;

pub(super) const VERSIONS: Table =
    Table { name: "server_assistant", plain: &["name", "version", "current"], thread: None };

pub(super) const CRONS: Table = Table { name: "server_cron", plain: &["name", "thread"], thread: Some(1) };

fn put_version(
    connection: &Connection,
    id: i64,
    row: &AssistantRow,
    is_current: bool,
) -> Result<(), StoreError> {
    let text_of_row = encode(connection.limits(), row)?;
    let plain = vec![text(&row.id), stored(row.version.into()), Value::Integer(is_current.into())];
    VERSIONS.put(connection, id, plain, &text_of_row)
}

/// Makes another version than the current one the current one.
fn leave_current(connection: &Connection, assistant: &str) -> Result<(), StoreError> {
    let current = VERSIONS.find(connection, "name = ? AND current = 1", [assistant])?;
    current.map_or(Ok(()), |current| put_version(connection, current.id, &current.decode()?, false))
}

pub(super) fn put(
    connection: &Connection,
    assistant: &AssistantRow,
) -> Result<(AssistantRow, bool), StoreError> {
    let newest = VERSIONS.find(connection, "name = ? ORDER BY version DESC", [&assistant.id])?;
    let newest = newest.map_or(Ok(0), |newest| newest.count(1))?;
    if u64::from(assistant.version) != newest + 1 {
        let current = find(connection, &assistant.id)?;
        let current = current.ok_or_else(|| StoreError::NoAssistant(assistant.id.clone()))?;
        return Ok((current, false));
    }
    encode(connection.limits(), assistant)?;
    leave_current(connection, &assistant.id)?;
    put_version(connection, VERSIONS.next_id(connection)?, assistant, true)?;
    Ok((assistant.clone(), true))
}

pub(super) fn find(connection: &Connection, id: &str) -> Result<Option<AssistantRow>, StoreError> {
    let found = VERSIONS.find(connection, "name = ? AND current = 1", [id])?;
    found.map(|found| found.decode()).transpose()
}

pub(super) fn list(
    connection: &Connection,
    query: &AssistantQuery,
) -> Result<Found<AssistantRow>, StoreError> {
    let mut rows: Vec<AssistantRow> = Vec::new();
    VERSIONS.each(connection, "WHERE current = 1", [], |_, found| {
        rows.push(found?.decode()?);
        Ok(())
    })?;
    Ok(query.page(rows))
}

pub(super) fn versions(connection: &Connection, id: &str) -> Result<Vec<AssistantRow>, StoreError> {
    let mut rows = Vec::new();
    VERSIONS.each(connection, "WHERE name = ? ORDER BY version DESC", [id], |_, found| {
        rows.push(found?.decode()?);
        Ok(())
    })?;
    Ok(rows)
}

pub(super) fn set_version(
    connection: &Connection,
    id: &str,
    version: u32,
    now_ms: u64,
) -> Result<Option<AssistantRow>, StoreError> {
    let found = VERSIONS.find(connection, "name = ? AND version = ?", (id, version))?;
    let Some(found) = found else { return Ok(None) };
    let row = AssistantRow { updated_ms: now_ms, ..found.decode()? };
    leave_current(connection, id)?;
    put_version(connection, found.id, &row, true)?;
    Ok(Some(row))
}

pub(super) fn delete(connection: &Connection, id: &str) -> Result<bool, StoreError> {
    execute(connection, "DELETE FROM server_assistant WHERE name = ?", [id]).map(|deleted| deleted > 0)
}

fn stored_cron(connection: &Connection, id: &str) -> Result<Option<Stored>, StoreError> {
    CRONS.find(connection, "name = ?", [id])
}

pub(super) fn put_cron(connection: &Connection, cron: &CronRow) -> Result<(), StoreError> {
    let missing = |thread: &superstep_core::id::ThreadId| StoreError::NoThread(thread.clone());
    let thread = match &cron.thread {
        Some(thread) => Some(threads::id_of(connection, thread)?.ok_or_else(|| missing(thread))?),
        None => None,
    };
    let text_of_row = encode(connection.limits(), cron)?;
    let id = match stored_cron(connection, &cron.id)? {
        Some(found) => found.id,
        None => CRONS.next_id(connection)?,
    };
    let plain = vec![text(&cron.id), thread.map_or(Value::Null, Value::Integer)];
    CRONS.put(connection, id, plain, &text_of_row)
}

pub(super) fn cron(connection: &Connection, id: &str) -> Result<Option<CronRow>, StoreError> {
    stored_cron(connection, id)?.map(|found| found.decode()).transpose()
}

pub(super) fn crons(connection: &Connection, query: &CronQuery) -> Result<Found<CronRow>, StoreError> {
    let mut rows: Vec<CronRow> = Vec::new();
    CRONS.each(connection, "", [], |_, found| {
        rows.push(found?.decode()?);
        Ok(())
    })?;
    Ok(query.page(rows))
}

pub(super) fn advance(
    connection: &Connection,
    id: &str,
    due_ms: u64,
    next_ms: Option<u64>,
) -> Result<bool, StoreError> {
    match cron(connection, id)? {
        Some(cron) if cron.next_ms == Some(due_ms) => {
            put_cron(connection, &CronRow { next_ms, ..cron })?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

pub(super) fn delete_cron(connection: &Connection, id: &str) -> Result<bool, StoreError> {
    execute(connection, "DELETE FROM server_cron WHERE name = ?", [id]).map(|deleted| deleted > 0)
}
