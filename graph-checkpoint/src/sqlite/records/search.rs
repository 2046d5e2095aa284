//! Searches threads. Entries of metadata that are no object and no list are found by their hashes.

use rusqlite::types::Value;
use superstep_core::checkpoint::StoreError;
use superstep_core::records::{Found, ThreadQuery, ThreadRow};

use super::table::{stored, text, values};
use super::tags::{Digests, tag};
use super::threads;
use crate::records::column;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

/// The number of threads up to which all that fit are sorted. Above it, the index of the order is read until the page
/// is full.
const FEW: u64 = 2_000;

/// A `WHERE` clause with its values.
struct Conditions {
    sql: String,
    given: Vec<Value>,
}

impl Conditions {
    fn new(sql: &str) -> Self {
        Self { sql: sql.into(), given: Vec::new() }
    }

    fn and(&mut self, sql: &str, value: Value) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.given.push(value);
    }
}

pub(super) fn threads(connection: &Connection, query: &ThreadQuery) -> Result<Found<ThreadRow>, StoreError> {
    let mut tags = Vec::new();
    for (name, value) in &query.metadata {
        match tag(connection, name, value, Digests::OfFile) {
            Some(tag) => tags.push(Value::Blob(tag.to_vec())),
            None => return filtered(connection, query),
        }
    }
    if query.ids.is_some() {
        return filtered(connection, query);
    }
    let total = total(connection, query, &tags)?;
    if total == 0 || query.limit == 0 || query.offset as u64 >= total {
        return Ok(Found { rows: Vec::new(), total });
    }
    let rows = threads::rows(connection, &page(connection, query, &tags, total)?)?;
    Ok(Found { rows, total })
}

/// Returns the number of threads that fit, read from indexes only.
fn total(connection: &Connection, query: &ThreadQuery, tags: &[Value]) -> Result<u64, StoreError> {
    let mut conditions = match tags.split_first() {
        Some((first, others)) => {
            let mut conditions = Conditions::new("SELECT count(*) FROM server_tag t WHERE 1");
            conditions.and("t.digest = ?", first.clone());
            for other in others {
                conditions.and(
                    "EXISTS (SELECT 1 FROM server_tag o WHERE o.digest = ? AND o.thread = t.thread)",
                    other.clone(),
                );
            }
            if let Some(status) = query.status {
                let sql = "t.thread IN (SELECT id FROM server_thread WHERE status = ?)";
                conditions.and(sql, text(status.as_str()));
            }
            conditions
        }
        None => {
            let mut conditions = Conditions::new("SELECT count(*) FROM server_thread WHERE 1");
            if let Some(status) = query.status {
                conditions.and("status = ?", text(status.as_str()));
            }
            conditions
        }
    };
    let Conditions { sql, given } = &mut conditions;
    let mut count = connection.prepare_cached(sql).map_err(sqlite)?;
    count.query_row(values(given), |row| row.get::<_, i64>(0)).map(i64::unsigned_abs).map_err(sqlite)
}

/// Returns the numbers of the threads of the page, in order.
fn page(
    connection: &Connection,
    query: &ThreadQuery,
    tags: &[Value],
    total: u64,
) -> Result<Vec<i64>, StoreError> {
    let column = column(query.order.by);
    let direction = if query.order.ascending { "ASC" } else { "DESC" };
    let mut conditions = match tags {
        // CROSS JOIN fixes the order of the tables: from the few hashes to their threads.
        [first, ..] if total <= FEW => {
            let mut conditions = Conditions::new(
                "SELECT s.id FROM server_tag t CROSS JOIN server_thread s ON s.id = t.thread WHERE 1",
            );
            conditions.and("t.digest = ?", first.clone());
            conditions
        }
        _ => Conditions::new("SELECT s.id FROM server_thread s WHERE 1"),
    };
    for tag in tags {
        let sql = "EXISTS (SELECT 1 FROM server_tag o WHERE o.digest = ? AND o.thread = s.id)";
        conditions.and(sql, tag.clone());
    }
    if let Some(status) = query.status {
        // The sign keeps SQLite from sorting all threads of the status instead of reading the index of the order.
        let sql = if total <= FEW { "s.status = ?" } else { "+s.status = ?" };
        conditions.and(sql, text(status.as_str()));
    }
    let Conditions { mut sql, mut given } = conditions;
    sql.push_str(&format!(" ORDER BY s.{column} {direction}, s.name {direction} LIMIT ? OFFSET ?"));
    given.extend([stored(query.limit as u64), stored(query.offset as u64)]);
    let mut page = connection.prepare_cached(&sql).map_err(sqlite)?;
    let ids = page.query_map(values(&given), |row| row.get(0)).map_err(sqlite)?;
    ids.collect::<Result<_, _>>().map_err(sqlite)
}

/// Reads the threads that may fit, and checks each.
fn filtered(connection: &Connection, query: &ThreadQuery) -> Result<Found<ThreadRow>, StoreError> {
    let mut rows: Vec<ThreadRow> = Vec::new();
    if let Some(ids) = &query.ids {
        for id in ids {
            rows.extend(threads::Held::find(connection, id)?.map(|held| held.row));
        }
        // An id that is listed twice is found once.
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        rows.dedup_by(|a, b| a.id == b.id);
        return Ok(query.page(rows));
    }
    let mut conditions = Conditions::new("WHERE 1");
    for (name, value) in &query.metadata {
        if let Some(tag) = tag(connection, name, value, Digests::OfFile) {
            let sql = "id IN (SELECT thread FROM server_tag WHERE digest = ?)";
            conditions.and(sql, Value::Blob(tag.to_vec()));
        }
    }
    if let Some(status) = query.status {
        conditions.and("status = ?", text(status.as_str()));
    }
    threads::TABLE.each(connection, &conditions.sql, values(&conditions.given), |_, found| {
        rows.push(found?.decode()?);
        Ok(())
    })?;
    Ok(query.page(rows))
}
