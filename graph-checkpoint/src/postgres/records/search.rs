//! Searches threads and runs. Entries of metadata that are no object and no list are found by their hashes.

use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::records::{Found, RunQuery, RunRow, ThreadQuery, ThreadRow};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::super::call::Call;
use super::super::stored::Texts;
use super::postgres_records::PostgresRecords;
use super::rows::{self, count, get, tag};
use crate::records::column;

/// A condition with its values.
struct Conditions<'c> {
    sql: String,
    call: Call<'c>,
}

impl<'c> Conditions<'c> {
    fn new() -> Self {
        Self { sql: "true".into(), call: Call::query("") }
    }

    /// Adds a condition about the value that was added last; `$` stands for its place.
    fn and(mut self, sql: &str, call: impl FnOnce(Call<'c>) -> Call<'c>) -> Self {
        self.call = call(self.call);
        self.sql.push_str(" AND ");
        self.sql.push_str(&sql.replace('$', &format!("${}", self.call.place())));
        self
    }

    /// Adds the conditions for the metadata, as far as they are hashed, and for the status.
    fn of_threads(mut self, texts: &Texts, query: &ThreadQuery) -> Self {
        for tag in query.metadata.iter().filter_map(|(name, value)| tag(texts, name, value)) {
            let sql = "EXISTS (SELECT 1 FROM @.server_tag o WHERE o.digest = $ AND o.thread = h.id)";
            self = self.and(sql, |call| call.argument(Vec::from(tag), Type::BYTEA));
        }
        if let Some(status) = query.status {
            self = self.and("h.status = $", |call| call.text(status.as_str()));
        }
        self
    }

    /// Returns the query for a page of a table: its rows in order, each with the number of all. A row with nothing but the
    /// number stands for an empty page.
    fn page(self, table: &str, order: &str, offset: usize, limit: usize) -> Call<'c> {
        let Self { sql, call } = self;
        let place = call.place();
        let statement = format!(
            "SELECT n.total, p.* FROM (SELECT count(*) AS total FROM @.{table} h WHERE {sql}) n LEFT JOIN (
                SELECT s.*, row_number() OVER () AS place FROM (
                    SELECT h.* FROM @.{table} h WHERE {sql} ORDER BY {order} LIMIT ${} OFFSET ${}
                ) s
            ) p ON true ORDER BY p.place",
            place + 1,
            place + 2,
        );
        call.with_query(statement).time(limit as u64).time(offset as u64)
    }
}

/// Reads the rows of a page.
fn found<T>(rows: &[Row], read: impl Fn(&Row) -> Result<T, StoreError>) -> Result<Found<T>, StoreError> {
    let total = rows.first().map_or(Ok(0), |row| get(row, "total").map(count))?;
    let mut page = Vec::with_capacity(rows.len());
    for row in rows {
        if get::<Option<i64>>(row, "place")?.is_some() {
            page.push(read(row)?);
        }
    }
    Ok(Found { rows: page, total })
}

impl PostgresRecords {
    pub(super) async fn find_threads(&self, query: &ThreadQuery) -> Result<Found<ThreadRow>, StoreError> {
        let is_scalar = query.metadata.iter().all(|(name, value)| tag(&self.texts, name, value).is_some());
        let mut conditions = Conditions::new().of_threads(&self.texts, query);
        if let Some(ids) = &query.ids {
            let sql = "sha256(h.name) IN (SELECT sha256(i.name) FROM unnest($) AS i(name))";
            conditions = conditions.and(sql, |call| call.names(ids.iter().map(ThreadId::as_str)));
        }
        if !is_scalar {
            // Objects and lists are compared here.
            let Conditions { sql, call } = conditions;
            let call = call.with_query(format!("SELECT h.name, h.text FROM @.server_thread h WHERE {sql}"));
            let rows = self.read(&call).await?;
            let rows: Vec<ThreadRow> =
                rows.iter().map(|row| rows::thread_of(&self.texts, row)).collect::<Result<_, _>>()?;
            return Ok(query.page(rows));
        }
        let column = column(query.order.by);
        let (direction, nulls) = match query.order.ascending {
            true => ("ASC", "NULLS FIRST"),
            false => ("DESC", "NULLS LAST"),
        };
        // Other columns are never null, and their indexes do not fit these words.
        let nulls = if column == "graph" { nulls } else { "" };
        let order = format!("h.{column} {direction} {nulls}, h.name {direction}");
        let call = conditions.page("server_thread", &order, query.offset, query.limit);
        found(&self.read(&call).await?, |row| rows::thread_of(&self.texts, row))
    }

    pub(super) async fn find_runs(&self, query: &RunQuery) -> Result<Found<RunRow>, StoreError> {
        let mut conditions = Conditions::new();
        if let Some(thread) = &query.thread {
            let sql = "h.thread = (SELECT t.id FROM @.server_thread t WHERE sha256(t.name) = sha256($))";
            conditions = conditions.and(sql, |call| call.name(thread.as_str()));
        }
        if !query.statuses.is_empty() {
            let names: Vec<&str> = query.statuses.iter().map(|status| status.as_str()).collect();
            conditions = conditions.and("h.status = ANY($)", |call| call.argument(names, Type::TEXT_ARRAY));
            // Lets the server use the indexes of the queue.
            if !query.statuses.iter().any(|status| status.is_terminal()) {
                conditions.sql.push_str(" AND h.status IN ('pending', 'running')");
            }
        }
        let call = conditions.page("server_run", "h.id DESC", query.offset, query.limit);
        found(&self.read(&call).await?, |row| rows::run(&self.texts, row))
    }
}
