//! Rows of checkpoints that get their changes in another form.

use rusqlite::params;
use rusqlite::types::Value;
use superstep_core::checkpoint::StoreError;

use crate::connection::Connection;
use crate::fault::sqlite;
use crate::history::rows::Changed;

/// A row without what it says about versions.
pub(crate) struct TakenOut {
    seq: i64,
    columns: [Value; 9],
}

impl Changed<'_> {
    /// Takes the row at `seq` out, to be put back with the same changes in another form.
    pub(crate) fn take_out(connection: &Connection, seq: i64) -> Result<TakenOut, StoreError> {
        let mut find = connection
            .prepare_cached(
                "SELECT id, thread, run, step, source, schema, topology, sum, manifest FROM checkpoint WHERE seq = ?",
            )
            .map_err(sqlite)?;
        let mut columns = [const { Value::Null }; 9];
        find.query_row([seq], |row| {
            columns.iter_mut().enumerate().try_for_each(|(at, column)| {
                *column = row.get(at)?;
                Ok(())
            })
        })
        .map_err(sqlite)?;
        connection
            .prepare_cached("DELETE FROM checkpoint WHERE seq = ?")
            .and_then(|mut delete| delete.execute([seq]))
            .map_err(sqlite)?;
        Ok(TakenOut { seq, columns })
    }

    /// Puts a row back with these changes. A row that was only made shorter would leave its page half empty.
    pub(crate) fn put_back(&self, connection: &Connection, row: TakenOut) -> Result<(), StoreError> {
        let cell = |column| move || Self::cell(column, row.seq, self.parent);
        let changes = connection.seal(self.changes, cell("changes"))?;
        let fields = connection.seal_optional(self.fields, cell("fields"))?;
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
