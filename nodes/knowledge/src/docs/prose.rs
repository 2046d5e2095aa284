//! Cutting plain text into passages.

use std::ops::Range;

use super::lines::Lines;
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
