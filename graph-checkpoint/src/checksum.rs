//! The checksum that every row carries to prove that it is what was written.

use twox_hash::XxHash3_64;

/// A running 64-bit checksum (XXH3) over the columns of one row.
///
/// It guards against damage, not against forgery. It starts from the name of the row's table and takes in the
/// row's identity, so that a row found in another's place does not pass.
pub(crate) struct Checksum(u64);

impl Checksum {
    pub(crate) fn of(table: &str) -> Self {
        Self(XxHash3_64::oneshot(table.as_bytes()))
    }

    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        Self(XxHash3_64::oneshot_with_seed(self.0, bytes))
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn int(self, value: i64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// An absent value is no value: not zero, and not an empty text.
    pub(crate) fn optional_int(self, value: Option<i64>) -> Self {
        match value {
            Some(value) => self.int(value),
            None => self.bytes(b"absent"),
        }
    }

    pub(crate) fn optional_text(self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.int(1).text(text),
            None => self.bytes(b"absent"),
        }
    }

    /// The checksum as SQLite keeps it.
    pub(crate) fn finish(self) -> i64 {
        self.0.cast_signed()
    }
}
