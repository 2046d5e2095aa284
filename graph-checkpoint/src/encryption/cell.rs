//! Where an encrypted text belongs.

/// The character that begins every encrypted text, and no JSON text.
pub(super) const MARK: char = '~';

/// Returns `true` if a stored text is encrypted.
pub(crate) fn is_sealed(stored: &str) -> bool {
    stored.starts_with(MARK)
}

/// A cell of a table: the table, the column, and what identifies the row. A text that is encrypted for one cell is
/// refused in every other one.
pub(crate) struct Cell {
    table: &'static str,
    column: &'static str,
    /// For people.
    row: Option<i64>,
    identity: Vec<u8>,
}

impl Cell {
    pub(crate) fn of(table: &'static str, column: &'static str) -> Self {
        Self { table, column, row: None, identity: Vec::with_capacity(192) }.text(table).text(column)
    }

    /// The same with the number of its row, which errors say.
    pub(crate) fn named(self, row: i64) -> Self {
        Self { row: Some(row), ..self }
    }

    /// Each part is preceded by its length, so that no two rows have the same.
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

    pub(crate) fn optional_int(self, value: Option<i64>) -> Self {
        match value {
            Some(value) => self.int(value),
            None => self.bytes(&[]),
        }
    }

    #[cfg(feature = "encryption")]
    pub(super) fn as_bytes(&self) -> &[u8] {
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
