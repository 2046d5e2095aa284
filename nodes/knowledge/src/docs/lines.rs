//! From byte offsets to line numbers.

use std::ops::Range;

/// The beginnings of the lines of a text.
pub(super) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let behind_newlines =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(behind_newlines).collect() }
    }

    /// Returns the first and the last line, counted from 1, of a range of bytes that is not empty.
    pub(super) fn of_range(&self, range: &Range<usize>) -> (u32, u32) {
        (self.line(range.start), self.line(range.end.saturating_sub(1).max(range.start)))
    }

    fn line(&self, offset: usize) -> u32 {
        let line = self.starts.partition_point(|start| *start <= offset);
        u32::try_from(line).unwrap_or(u32::MAX)
    }
}
