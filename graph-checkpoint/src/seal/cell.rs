//! Where a sealed text belongs.

/// A cell of a table: the table, the column, and what identifies the row. A text that is sealed for one cell is refused
/// in every other one.
pub(crate) struct Cell {
    #[cfg_attr(
        not(feature = "encryption"),
        expect(dead_code, reason = "nothing is sealed, so nothing fails to open")
    )]
    table: &'static str,
    #[cfg_attr(
        not(feature = "encryption"),
        expect(dead_code, reason = "nothing is sealed, so nothing fails to open")
    )]
    column: &'static str,
    identity: Vec<u8>,
}

impl Cell {
    pub(crate) fn of(table: &'static str, column: &'static str) -> Self {
        Self { table, column, identity: Vec::with_capacity(192) }.text(table).text(column)
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

    /// What errors say of it.
    #[cfg(feature = "encryption")]
    pub(super) fn place(&self) -> impl core::fmt::Display + use<> {
        let (table, column) = (self.table, self.column);
        format!("the {column} of a row of {table}")
    }
}
