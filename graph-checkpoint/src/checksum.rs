//! The checksum of every row, which detects damage.

use twox_hash::XxHash3_64;

/// A running 64-bit checksum (XXH3) over the columns of one row.
///
/// It detects damage, not forgery. It starts from the name of the row's table and includes the row's identity, so that
/// a row in the wrong place does not match.
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

    /// Returns the checksum as SQLite stores it.
    pub(crate) fn finish(self) -> i64 {
        self.0.cast_signed()
    }
}

/// Columns that only a file has.
#[cfg(feature = "sqlite")]
impl Checksum {
    pub(crate) fn int(self, value: i64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Adds a value that may be absent. An absent value differs from zero and from an empty text.
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
}
