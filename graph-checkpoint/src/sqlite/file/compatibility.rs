//! Rejects schema objects that a checkpoint file never has and that SQLite would execute.

use rusqlite::{Connection, OptionalExtension};
use superstep_core::checkpoint::StoreError;

use crate::error::corrupt;
use crate::sqlite::error::sqlite;

/// Finds triggers, views, virtual tables and generated columns. The index of a [store's](crate::SqliteStore) words is a
/// virtual table without content, and is allowed.
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

/// Returns an error if the file contains any of these objects.
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
