//! Rewrites rows of checkpoints with their changes in another form.

use std::ops::RangeInclusive;

use rusqlite::params;
use rusqlite::types::Value;
use superstep_core::checkpoint::StoreError;

use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::rows::Changed;

/// A row without its columns about versions.
pub(crate) struct TakenOut {
    pub(crate) seq: i64,
    columns: [Value; 9],
}

impl Changed<'_> {
    /// Removes the rows with these numbers and returns them, so that they can be inserted again with the same changes
    /// in another form.
    pub(crate) fn take_out(
        connection: &Connection,
        rows: RangeInclusive<i64>,
    ) -> Result<Vec<TakenOut>, StoreError> {
        let mut find = connection
            .prepare_cached(
                "SELECT seq, id, thread, run, step, source, schema, topology, sum, manifest FROM checkpoint \
                 WHERE seq BETWEEN ? AND ? ORDER BY seq",
            )
            .map_err(sqlite)?;
        let found = find.query_map([rows.start(), rows.end()], |row| {
            let mut columns = [const { Value::Null }; 9];
            columns.iter_mut().zip(1..).try_for_each(|(column, at)| {
                *column = row.get(at)?;
                Ok::<_, rusqlite::Error>(())
            })?;
            Ok(TakenOut { seq: row.get(0)?, columns })
        });
        let found: Vec<TakenOut> = found.and_then(Iterator::collect).map_err(sqlite)?;
        connection
            .prepare_cached("DELETE FROM checkpoint WHERE seq BETWEEN ? AND ?")
            .and_then(|mut delete| delete.execute([rows.start(), rows.end()]))
            .map_err(sqlite)?;
        Ok(found)
    }

    /// Inserts a row again with these changes. An update that only shortened the row would leave its page half empty.
    pub(crate) fn put_back(&self, connection: &Connection, row: TakenOut) -> Result<(), StoreError> {
        let cell = |column| move || Self::cell(column, row.seq, self.parent);
        let changes = connection.encrypt(self.changes, cell("changes"))?;
        let fields = connection.encrypt_optional(self.fields, cell("fields"))?;
        let sum = Self::sum(row.seq, self.parent, &changes, fields.as_deref());
        let [id, thread, run, step, source, schema, topology, own_sum, manifest] = row.columns;
        connection
            .prepare_cached(
                "INSERT INTO checkpoint(seq, id, parent, thread, run, step, source, schema, topology, sum, \
                 changes_sum, fields, changes, manifest) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .and_then(|mut insert| {
                insert.execute(params![
                    row.seq,
                    id,
                    self.parent,
                    thread,
                    run,
                    step,
                    source,
                    schema,
                    topology,
                    own_sum,
                    sum,
                    fields,
                    changes,
                    manifest,
                ])
            })
            .map(drop)
            .map_err(sqlite)
    }
}
