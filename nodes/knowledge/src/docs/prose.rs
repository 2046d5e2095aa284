//! Cutting plain text into passages with their line numbers.

use std::ops::Range;

use super::{Passage, PassageKind};

/// Cuts a text into paragraphs: runs of lines that are not blank.
pub(super) fn split(path: &str, text: &str) -> Vec<Passage> {
    let lines = Lines::of(text);
    paragraphs(text).map(|range| passage(path, "", PassageKind::Prose, text, &range, &lines)).collect()
}

/// Finds the runs of lines that are not blank, without the newline at their ends.
pub(super) fn paragraphs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut offset = 0;
    let mut open: Option<Range<usize>> = None;
    let mut lines = text.split_inclusive('\n');
    std::iter::from_fn(move || {
        for line in lines.by_ref() {
            let start = offset;
            offset += line.len();
            if line.trim().is_empty() {
                if let Some(done) = open.take() {
                    return Some(done);
                }
            } else {
                let end = start + line.trim_end().len();
                open = Some(open.take().map_or(start, |range| range.start)..end);
            }
        }
        open.take()
    })
}

/// Makes the passage of a range of a text.
pub(super) fn passage(
    path: &str,
    heading: &str,
    kind: PassageKind,
    text: &str,
    range: &Range<usize>,
    lines: &Lines,
) -> Passage {
    let (line_start, line_end) = lines.of_range(range);
    Passage {
        path: path.to_owned(),
        heading: heading.to_owned(),
        kind,
        line_start,
        line_end,
        text: text[range.clone()].to_owned(),
        score: 0.0,
    }
}

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
