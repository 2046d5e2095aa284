//! A table of a server's rows: plain columns, and one text.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Params, Row, params_from_iter};
use serde::de::DeserializeOwned;
use superstep_core::checkpoint::StoreError;

use super::execute;
use crate::checksum::Checksum;
use crate::encryption::Cell;
use crate::error::{corrupt, mismatch};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

/// A table: its rows have the columns `id`, the plain ones, `text` and `sum`.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The columns that are not encrypted, as they are read and written.
    pub(super) plain: &'static [&'static str],
    /// The position of the column with the row of a thread among the plain ones.
    pub(crate) thread: Option<usize>,
}

/// A row that was read.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) id: i64,
    table: &'static str,
    plain: Vec<Value>,
    pub(crate) text: String,
}

impl Table {
    /// Returns the columns for a `SELECT`, in the order that [`read`](Self::read) expects.
    fn columns(&self) -> String {
        let mut columns = String::from("id, ");
        for column in self.plain {
            columns.push_str(column);
            columns.push_str(", ");
        }
        columns + "text, sum"
    }

    fn cell(&self, id: i64) -> Cell {
        Cell::of(self.name, "text").int(id).named(id)
    }

    fn sum<'v>(&self, id: i64, plain: impl Iterator<Item = ValueRef<'v>>, stored: &str) -> i64 {
        let sum = plain.fold(Checksum::of(self.name).int(id), |sum, value| match value {
            ValueRef::Null => sum.optional_int(None),
            ValueRef::Integer(value) => sum.int(value),
            ValueRef::Real(value) => sum.int(value.to_bits().cast_signed()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => sum.bytes(bytes),
        });
        sum.text(stored).finish()
    }

    /// Returns the number of the next row.
    pub(super) fn next_id(&self, connection: &Connection) -> Result<i64, StoreError> {
        let sql = format!("SELECT coalesce(max(id), 0) + 1 FROM {}", self.name);
        let mut next = connection.prepare_cached(&sql).map_err(sqlite)?;
        next.query_row([], |row| row.get(0)).map_err(sqlite)
    }

    /// Stores a row, or replaces the one with its number.
    pub(super) fn put(
        &self,
        connection: &Connection,
        id: i64,
        plain: Vec<Value>,
        text: &str,
    ) -> Result<(), StoreError> {
        let stored = connection.encrypt(text, || self.cell(id))?.into_owned();
        self.put_stored(connection, id, plain, stored)
    }

    fn put_stored(
        &self,
        connection: &Connection,
        id: i64,
        plain: Vec<Value>,
        stored: String,
    ) -> Result<(), StoreError> {
        debug_assert_eq!(plain.len(), self.plain.len(), "the values of {}", self.name);
        let sum = self.sum(id, plain.iter().map(ValueRef::from), &stored);
        let columns = self.columns();
        let marks = vec!["?"; self.plain.len() + 3].join(", ");
        let others = self.plain.iter().chain(&["text", "sum"]);
        let changes: Vec<String> = others.map(|column| format!("{column} = excluded.{column}")).collect();
        let sql = format!(
            "INSERT INTO {}({columns}) VALUES({marks}) ON CONFLICT(id) DO UPDATE SET {}",
            self.name,
            changes.join(", ")
        );
        let values = [Value::Integer(id)].into_iter().chain(plain);
        let values = values.chain([Value::Text(stored), Value::Integer(sum)]);
        execute(connection, &sql, params_from_iter(values)).map(drop)
    }

    pub(super) fn delete(&self, connection: &Connection, id: i64) -> Result<(), StoreError> {
        execute(connection, &format!("DELETE FROM {} WHERE id = ?", self.name), [id]).map(drop)
    }

    /// Reads the first row that meets a condition.
    pub(super) fn find(
        &self,
        connection: &Connection,
        condition: &str,
        values: impl Params,
    ) -> Result<Option<Stored>, StoreError> {
        let mut found = None;
        self.each(connection, &format!("WHERE {condition} LIMIT 1"), values, |_, row| {
            found = Some(row?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Reads the rows that the end of a `SELECT` selects: `visit` receives each, with its number.
    pub(crate) fn each(
        &self,
        connection: &Connection,
        rest: &str,
        values: impl Params,
        mut visit: impl FnMut(i64, Result<Stored, StoreError>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = format!("SELECT {} FROM {} {rest}", self.columns(), self.name);
        let mut all = connection.prepare_cached(&sql).map_err(sqlite)?;
        let mut rows = all.query(values).map_err(sqlite)?;
        while let Some(row) = rows.next().map_err(sqlite)? {
            visit(row.get(0).map_err(sqlite)?, self.read(connection, row))?;
        }
        Ok(())
    }

    fn read(&self, connection: &Connection, row: &Row<'_>) -> Result<Stored, StoreError> {
        let mut stored = self.undecrypted(row)?;
        let text = connection.decrypt(&stored.text, || self.cell(stored.id))?.into_owned();
        stored.text = text;
        Ok(stored)
    }

    /// Reads a row with its text as it is stored, and checks the checksum.
    fn undecrypted(&self, row: &Row<'_>) -> Result<Stored, StoreError> {
        let id = row.get(0).map_err(sqlite)?;
        let plain = (1..=self.plain.len()).map(|column| row.get(column)).collect::<Result<Vec<Value>, _>>();
        let plain = plain.map_err(sqlite)?;
        let text: String = row.get(plain.len() + 1).map_err(sqlite)?;
        let sum: i64 = row.get(plain.len() + 2).map_err(sqlite)?;
        if sum != self.sum(id, plain.iter().map(ValueRef::from), &text) {
            return Err(mismatch(format_args!("{} row {id}", self.name)));
        }
        Ok(Stored { id, table: self.name, plain, text })
    }

    /// Changes the stored form of a row's text with `form`, which receives the stored text and its cell. Returns the
    /// bytes of the new text.
    #[cfg(feature = "encryption")]
    pub(crate) fn rewrite(
        &self,
        connection: &Connection,
        id: i64,
        form: impl FnOnce(&str, &dyn Fn() -> Cell) -> Result<String, StoreError>,
    ) -> Result<usize, StoreError> {
        let sql = format!("SELECT {} FROM {} WHERE id = ?", self.columns(), self.name);
        let row = connection.query_row(&sql, [id], |row| Ok(self.undecrypted(row))).map_err(sqlite)??;
        let stored = form(&row.text, &|| self.cell(id))?;
        let bytes = stored.len();
        self.put_stored(connection, id, row.plain, stored)?;
        Ok(bytes)
    }
}

impl Stored {
    pub(super) fn int(&self, column: usize) -> Result<i64, StoreError> {
        match &self.plain[column] {
            Value::Integer(value) => Ok(*value),
            _ => Err(self.damaged("a number is missing")),
        }
    }

    /// Returns a time or another number that is never negative.
    pub(super) fn count(&self, column: usize) -> Result<u64, StoreError> {
        self.int(column).map(|value| value.max(0).unsigned_abs())
    }

    pub(crate) fn optional_int(&self, column: usize) -> Option<i64> {
        match &self.plain[column] {
            Value::Integer(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn optional_text(&self, column: usize) -> Option<&str> {
        match &self.plain[column] {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value that a column names.
    pub(super) fn named<T>(
        &self,
        column: usize,
        from_name: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let name = self.optional_text(column).unwrap_or_default();
        from_name(name).ok_or_else(|| self.damaged(format_args!("{name:?} is unknown")))
    }

    pub(super) fn decode<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        serde_json::from_str(&self.text).map_err(|error| self.damaged(error))
    }

    fn damaged(&self, reason: impl core::fmt::Display) -> StoreError {
        corrupt(format_args!("{} row {}", self.table, self.id), reason)
    }
}

/// Returns a time or a count as SQLite stores it.
pub(super) fn stored(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

pub(super) fn text(text: &str) -> Value {
    Value::Text(text.into())
}

pub(super) fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| Value::Text(text.into()))
}

/// The values of a statement whose number is only known when it is built.
pub(super) fn values(values: &[Value]) -> impl Params {
    params_from_iter(values)
}
