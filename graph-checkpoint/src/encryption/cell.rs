//! The cell of a table to which an encrypted text is bound.

/// The first character of every encrypted text. No JSON text begins with it.
pub(crate) const MARK: char = '~';

/// Returns `true` if a stored text is encrypted.
pub(crate) fn is_sealed(stored: &str) -> bool {
    stored.starts_with(MARK)
}

/// A cell of a table: the table, the column, and the identity of the row. A text that is encrypted for one cell cannot
/// be decrypted in another one.
pub(crate) struct Cell {
    table: &'static str,
    column: &'static str,
    /// The number of the row, for errors.
    row: Option<i64>,
    identity: Vec<u8>,
}

impl Cell {
    pub(crate) fn of(table: &'static str, column: &'static str) -> Self {
        Self { table, column, row: None, identity: Vec::with_capacity(192) }.text(table).text(column)
    }

    /// Adds the number of the row, which errors show.
    #[cfg(feature = "sqlite")]
    pub(crate) fn named(self, row: i64) -> Self {
        Self { row: Some(row), ..self }
    }

    /// Adds a part of the row's identity. Each part is preceded by its length, so that no two rows have the same bytes.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.identity.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.identity.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn int(self, value: i64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn optional_text(self, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.int(1).text(value),
            None => self.bytes(&[]),
        }
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn optional_int(self, value: Option<i64>) -> Self {
        match value {
            Some(value) => self.int(value),
            None => self.bytes(&[]),
        }
    }

    #[cfg(any(feature = "encryption", feature = "postgres"))]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.identity
    }

    /// Returns the description of the cell for errors.
    pub(crate) fn place(&self) -> impl core::fmt::Display + use<> {
        let (table, column) = (self.table, self.column);
        match self.row {
            Some(row) => format!("the {column} of {table} row {row}"),
            None => format!("the {column} of a row of {table}"),
        }
    }
}
