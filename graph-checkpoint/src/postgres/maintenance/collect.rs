//! Deletes unreferenced data.

use tokio_postgres::Client;

use super::super::call::Call;
use super::super::database::Database;
use super::super::error::Fault;
use crate::maintenance::Collected;

const LOST: &str = "NOT EXISTS (SELECT 1 FROM @.thread t WHERE t.id = w.thread) \
                    OR NOT EXISTS (SELECT 1 FROM @.checkpoint c WHERE c.seq = w.base)";
const PASSED: &str = "NOT EXISTS (SELECT 1 FROM @.thread t WHERE t.id = w.thread AND t.head = w.base)";

/// Deletes what no reader sees, as [`collect`](crate::maintenance::collect()) of a file.
pub(super) async fn collect(database: &Database, client: &Client) -> Result<Collected, Fault> {
    let mut told = Collected::default();
    // Results of tasks have no outcome: they are kept, to be inspected.
    let unseen = |end: &str| format!("{LOST} OR (w.{end} IS NULL AND {PASSED})");
    let expired = "EXISTS (SELECT 1 FROM @.server_expiring e WHERE e.thread = w.thread AND e.run = w.run AND e.at <= @.now_ms()) \
                   OR NOT EXISTS (SELECT 1 FROM @.server_expiring e WHERE e.thread = w.thread AND e.run = w.run) \
                   AND NOT EXISTS (SELECT 1 FROM @.server_run r WHERE sha256(r.name) = sha256(w.run))";
    for (table, unseen, bytes) in [
        ("pending", LOST.to_owned(), "octet_length(w.text)"),
        (
            "ask",
            unseen("answer"),
            "octet_length(w.text) + coalesce(octet_length(w.fallback), 0) + coalesce(octet_length(w.answer), 0)",
        ),
        ("effect", unseen("outcome"), "octet_length(w.text) + coalesce(octet_length(w.outcome), 0)"),
        (
            "emitted",
            "NOT EXISTS (SELECT 1 FROM @.checkpoint c WHERE c.seq = w.checkpoint)".to_owned(),
            "octet_length(w.text)",
        ),
        ("server_event", expired.to_owned(), "octet_length(w.text)"),
    ] {
        let sql = format!(
            "WITH gone AS (DELETE FROM @.{table} w WHERE {unseen} RETURNING {bytes} AS bytes) \
             SELECT count(*), coalesce(sum(g.bytes), 0)::bigint FROM gone g"
        );
        let (rows, bytes) = counted(database, client, sql).await?;
        told.work += rows;
        told.bytes += bytes;
    }
    let times = "WITH gone AS (DELETE FROM @.server_expiring e WHERE e.at <= @.now_ms() RETURNING 1) \
                 SELECT count(*), 0::bigint FROM gone";
    told.remains += counted(database, client, times.into()).await?.0;
    let changes =
        "SELECT * FROM @.sweep_changes(ARRAY(SELECT DISTINCT r.root FROM @.remaining_change r))".to_owned();
    let (rows, bytes) = counted(database, client, changes).await?;
    told.remains += rows;
    told.bytes += bytes;
    Ok(told)
}

async fn counted(database: &Database, client: &Client, sql: String) -> Result<(u64, u64), Fault> {
    let rows = database.on(client, &Call::query(sql)).await?;
    let answer = |error: tokio_postgres::Error| Fault::of(&error);
    let number = |at: usize| match rows.first() {
        Some(row) => row.try_get::<_, i64>(at).map(i64::unsigned_abs).map_err(answer),
        None => Ok(0),
    };
    Ok((number(0)?, number(1)?))
}
