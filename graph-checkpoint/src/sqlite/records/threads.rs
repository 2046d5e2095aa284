//! The table `server_thread`.

use rusqlite::OptionalExtension;
use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::records::life::{self, Runs};
use superstep_core::records::{ThreadChange, ThreadRow, ThreadStatus};

use super::runs;
use super::table::{Stored, Table, optional, stored, text};
use super::tags::{self, Digests, Tags};
use crate::records::encode;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

pub(super) const TABLE: Table = Table {
    name: "server_thread",
    plain: &[
        "name",
        "graph",
        "status",
        "resting",
        "created",
        "updated",
        "state_updated",
        "expires",
        "next_event",
    ],
    thread: None,
};

const RESTING: usize = 3;
const NEXT_EVENT: usize = 8;

/// A thread with what only the file has of it.
pub(super) struct Held {
    pub(super) id: i64,
    pub(super) row: ThreadRow,
    /// The status without active runs.
    pub(super) resting: ThreadStatus,
    /// The number of the next event to be reserved.
    pub(super) next_event: u64,
}

impl Held {
    fn of(stored: &Stored) -> Result<Self, StoreError> {
        Ok(Self {
            id: stored.id,
            row: stored.decode()?,
            resting: stored.named(RESTING, ThreadStatus::from_name)?,
            next_event: stored.count(NEXT_EVENT)?,
        })
    }

    pub(super) fn find(connection: &Connection, thread: &ThreadId) -> Result<Option<Self>, StoreError> {
        let found = TABLE.find(connection, "name = ?", [thread.as_str()])?;
        found.map(|found| Self::of(&found)).transpose()
    }

    /// Reads the thread that a row belongs to.
    pub(super) fn needed(connection: &Connection, thread: &ThreadId) -> Result<Self, StoreError> {
        Self::find(connection, thread)?.ok_or_else(|| StoreError::NoThread(thread.clone()))
    }

    pub(super) fn store(&self, connection: &Connection) -> Result<(), StoreError> {
        let text_of_row = encode(connection.limits(), &self.row)?;
        let Self { id, row, resting, next_event } = self;
        let plain = vec![
            text(row.id.as_str()),
            optional(row.graph.as_ref().map(superstep_core::id::NodeName::as_str)),
            text(row.status.as_str()),
            text(resting.as_str()),
            stored(row.created_ms),
            stored(row.updated_ms),
            stored(row.state_updated_ms),
            row.expiry.map_or(rusqlite::types::Value::Null, |expiry| stored(expiry.at_ms)),
            stored(*next_event),
        ];
        TABLE.put(connection, *id, plain, &text_of_row)
    }

    /// Changes the row, as [`life::change`] decides.
    pub(super) fn change(
        mut self,
        connection: &Connection,
        change: ThreadChange,
        now_ms: u64,
    ) -> Result<ThreadRow, StoreError> {
        let runs = match runs::has_active(connection, self.id)? {
            true => Runs::Active,
            false => Runs::Over,
        };
        let before = change.metadata.is_some().then(|| self.tags(connection));
        life::change(&mut self.row, &mut self.resting, change, runs, now_ms);
        self.store(connection)?;
        if let Some(before) = before {
            self.tags(connection).replace(connection, &before, self.id)?;
        }
        Ok(self.row)
    }

    fn tags(&self, connection: &Connection) -> Tags {
        Tags::of(connection, &self.row.metadata, Digests::OfFile)
    }
}

/// Returns the number of a thread's row.
pub(super) fn id_of(connection: &Connection, thread: &ThreadId) -> Result<Option<i64>, StoreError> {
    let mut find =
        connection.prepare_cached("SELECT id FROM server_thread WHERE name = ?").map_err(sqlite)?;
    find.query_row([thread.as_str()], |row| row.get(0)).optional().map_err(sqlite)
}

pub(super) fn insert(connection: &Connection, row: ThreadRow) -> Result<(ThreadRow, bool), StoreError> {
    if let Some(held) = Held::find(connection, &row.id)? {
        return Ok((held.row, false));
    }
    let held = Held { id: TABLE.next_id(connection)?, resting: row.status, row, next_event: 1 };
    held.store(connection)?;
    held.tags(connection).replace(connection, &Tags::default(), held.id)?;
    Ok((held.row, true))
}

/// Deletes the row with its hashes.
pub(super) fn delete(connection: &Connection, id: i64) -> Result<(), StoreError> {
    let found = TABLE.find(connection, "id = ?", [id]);
    match found.and_then(|found| found.as_ref().map(Held::of).transpose()) {
        Ok(held) => {
            let before = held.map(|held| held.tags(connection)).unwrap_or_default();
            Tags::default().replace(connection, &before, id)?;
        }
        // A damaged row does not tell its hashes.
        Err(_) => tags::delete(connection, id)?,
    }
    TABLE.delete(connection, id)
}

/// Returns the threads whose time has come, that are not busy, and whose webhooks were called, up to `limit`, the oldest
/// first.
pub(super) fn expired(
    connection: &Connection,
    now_ms: u64,
    limit: usize,
) -> Result<Vec<ThreadRow>, StoreError> {
    let mut expired = Vec::new();
    let values = [stored(now_ms), stored(limit as u64)];
    let rest = "WHERE expires <= ? AND status <> 'busy'
        AND NOT EXISTS (SELECT 1 FROM server_queue q WHERE q.thread = server_thread.id AND q.next_call NOT NULL)
        ORDER BY expires, name LIMIT ?";
    TABLE.each(connection, rest, values, |_, found| {
        expired.push(Held::of(&found?)?.row);
        Ok(())
    })?;
    Ok(expired)
}

/// Reads rows by their numbers, in this order.
pub(super) fn rows(connection: &Connection, ids: &[i64]) -> Result<Vec<ThreadRow>, StoreError> {
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        if let Some(found) = TABLE.find(connection, "id = ?", [id])? {
            rows.push(Held::of(&found)?.row);
        }
    }
    Ok(rows)
}

/// Sets the number of the next event.
pub(super) fn reserve(
    connection: &Connection,
    thread: &ThreadId,
    next: impl FnOnce(&Held) -> Result<u64, StoreError>,
) -> Result<u64, StoreError> {
    let mut held = Held::needed(connection, thread)?;
    let before = held.next_event;
    held.next_event = next(&held)?;
    if held.next_event != before {
        held.store(connection)?;
    }
    Ok(before)
}
