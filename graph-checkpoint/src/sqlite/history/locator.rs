//! Finds checkpoints by their ids: the table `locator`, and the newest rows, which are not in it yet.

use rusqlite::{OptionalExtension, params};
use superstep_core::checkpoint::StoreError;
use superstep_core::id::CheckpointId;
use uuid::Uuid;

use crate::error::corrupt;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::rows::CheckpointRow;

/// The number of ids that are entered into the locator at once (the statements below contain the same number). An index
/// that every commit updates would cause a third of the writes of a commit. Until its id is entered, a checkpoint is
/// found among the newest rows.
pub(crate) const LOCATE_EVERY: i64 = 64;

impl CheckpointRow {
    /// Returns the position of the checkpoint with this `id`, from the locator or from the newest rows, which are not
    /// in it yet.
    pub(crate) fn seq_of(connection: &Connection, id: CheckpointId) -> Result<Option<i64>, StoreError> {
        let located = find(connection, "SELECT seq FROM locator WHERE id = ?", id);
        if let Ok(Some(seq)) = located {
            let points_at_it = Self::visit(connection, seq, |row, _| Ok(row.id == id))?;
            let stray = || corrupt(format_args!("the locator of checkpoint {id}"), "it names another");
            return points_at_it.then_some(Some(seq)).ok_or_else(stray);
        }
        let newest = "SELECT seq FROM checkpoint \
                      WHERE seq > (SELECT max(seq) FROM checkpoint) / 64 * 64 AND id = ?";
        let found = match find(connection, newest, id) {
            Err(damaged @ StoreError::Corrupt { .. }) => {
                // All checkpoints are at most as new as the newest head. It is unknown which row is damaged, and so if
                // it is this checkpoint's.
                let last = connection.query_row("SELECT max(head) FROM thread", [], |row| row.get(0));
                let found =
                    newest_one_by_one(connection, last.map_err(sqlite)?)?.find(|(_, held)| *held == id);
                found.map(|(seq, _)| Some(seq)).ok_or(damaged)
            }
            found => found,
        }?;
        // Older checkpoints are only in the locator.
        found.map_or(located, |seq| Ok(Some(seq)))
    }

    /// Returns the greatest id of all checkpoints.
    pub(crate) fn newest_id(connection: &Connection, last: i64) -> Result<Option<CheckpointId>, StoreError> {
        let mut newest = connection
            .prepare_cached(
                "SELECT max(id) FROM (SELECT max(id) AS id FROM locator UNION ALL \
                 SELECT max(id) FROM checkpoint WHERE seq > ? / 64 * 64)",
            )
            .map_err(sqlite)?;
        // If one of the newest rows is damaged, writing fails: SQLite ends a transaction that has read malformed pages.
        let newest: Option<[u8; 16]> = newest.query_row([last], |row| row.get(0)).map_err(sqlite)?;
        Ok(newest.map(|bytes| CheckpointId(Uuid::from_bytes(bytes))))
    }

    /// Enters the checkpoints up to `seq` into the locator, if they complete a batch.
    pub(crate) fn locate(connection: &Connection, seq: i64) -> Result<(), StoreError> {
        if seq % LOCATE_EVERY != 0 {
            return Ok(());
        }
        connection
            .prepare_cached(
                "INSERT OR IGNORE INTO locator(id, seq) \
                 SELECT id, seq FROM checkpoint WHERE seq > ?1 - 64 AND seq <= ?1",
            )
            .and_then(|mut insert| insert.execute([seq]))
            .map(drop)
            .map_err(sqlite)
    }
}

fn find(connection: &Connection, sql: &str, id: CheckpointId) -> Result<Option<i64>, StoreError> {
    let mut find = connection.prepare_cached(sql).map_err(sqlite)?;
    find.query_row([id.0.as_bytes()], |row| row.get(0)).optional().map_err(sqlite)
}

/// Returns the checkpoints up to `last` that are not in the locator, except damaged ones.
fn newest_one_by_one(
    connection: &Connection,
    last: i64,
) -> Result<impl Iterator<Item = (i64, CheckpointId)>, StoreError> {
    let mut find = connection.prepare_cached("SELECT id FROM checkpoint WHERE seq = ?").map_err(sqlite)?;
    let newest = (last / LOCATE_EVERY * LOCATE_EVERY..=last).rev();
    Ok(newest.filter_map(move |seq| {
        let id: [u8; 16] = find.query_row(params![seq], |row| row.get(0)).ok()?;
        Some((seq, CheckpointId(Uuid::from_bytes(id))))
    }))
}
