//! Columns that hold text, read without a copy.

use std::borrow::Cow;

use rusqlite::Row;
use superstep_core::checkpoint::StoreError;

use crate::error::corrupt;
use crate::sqlite::error::sqlite;

pub(crate) fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, StoreError> {
    let value = row.get_ref(column).map_err(sqlite)?;
    value.as_str().map_err(|error| corrupt("a text column", error))
}

pub(crate) fn optional_text<'r>(row: &'r Row<'_>, column: usize) -> Result<Option<&'r str>, StoreError> {
    let value = row.get_ref(column).map_err(sqlite)?;
    value.as_str_or_null().map_err(|error| corrupt("a text column", error))
}

/// A long text as it is stored, in one of two columns: as text, or encrypted as bytes, which need a quarter less space
/// than text. Before format 5, all long texts were stored as text.
pub(crate) enum LongText<'t> {
    Text(Cow<'t, str>),
    Encrypted(Cow<'t, [u8]>),
}

impl<'t> LongText<'t> {
    /// Reads the text from the columns `text` and `sealed`.
    pub(crate) fn read(row: &'t Row<'_>, text_at: usize, sealed_at: usize) -> Result<Self, StoreError> {
        const COLUMN: &str = "a column of encrypted texts";
        let sealed = row.get_ref(sealed_at).map_err(sqlite)?.as_blob_or_null();
        let sealed = sealed.map_err(|error| corrupt(COLUMN, error))?;
        match (text(row, text_at)?, sealed) {
            (text, None) => Ok(Self::Text(text.into())),
            ("", Some(sealed)) => Ok(Self::Encrypted(sealed.into())),
            (_, Some(_)) => Err(corrupt(COLUMN, "there is another text beside it")),
        }
    }

    /// Returns the contents of the columns `text` and `sealed`.
    pub(crate) fn columns(&self) -> (&str, Option<&[u8]>) {
        match self {
            Self::Text(text) => (text, None),
            Self::Encrypted(sealed) => ("", Some(sealed)),
        }
    }
}
