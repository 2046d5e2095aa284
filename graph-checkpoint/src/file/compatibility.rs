//! Refuses what a checkpoint file never has and SQLite would run along the way.

use rusqlite::{Connection, OptionalExtension};
use superstep_core::checkpoint::StoreError;

use crate::error::{corrupt, sqlite};

/// Triggers, views, tables that code makes up, and columns that are computed. The words of a
/// [store](crate::SqliteStore) are in such a table, which has no content of its own.
const STRANGE: &str = "
SELECT type || ' ' || name FROM sqlite_schema
WHERE type IN ('trigger', 'view') OR (
    type = 'table' AND sql LIKE 'CREATE VIRTUAL%'
    AND NOT (name = 'item_words' AND sql LIKE 'CREATE VIRTUAL TABLE%USING fts5(%content=''''%')
)
UNION ALL
SELECT 'computed column ' || t.name || '.' || c.name
FROM sqlite_schema AS t JOIN pragma_table_xinfo(t.name) AS c
WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND c.hidden IN (2, 3)
LIMIT 1";

/// Refuses a file that has any of it.
pub(crate) fn refuse(connection: &Connection, file: &str) -> Result<(), StoreError> {
    let strange: Option<String> =
        connection.query_row(STRANGE, [], |row| row.get(0)).optional().map_err(sqlite)?;
    match strange {
        None => Ok(()),
        Some(strange) => {
            Err(corrupt(file, format_args!("it has the {strange}, and a checkpoint file has none")))
        }
    }
}
