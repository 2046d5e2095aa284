//! Columns that hold text, read without a copy.

use rusqlite::Row;
use superstep_core::checkpoint::StoreError;

use crate::fault::{corrupt, sqlite};

pub(crate) fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, StoreError> {
    let value = row.get_ref(column).map_err(sqlite)?;
    value.as_str().map_err(|error| corrupt("a text column", error))
}

pub(crate) fn optional_text<'r>(row: &'r Row<'_>, column: usize) -> Result<Option<&'r str>, StoreError> {
    let value = row.get_ref(column).map_err(sqlite)?;
    value.as_str_or_null().map_err(|error| corrupt("a text column", error))
}
