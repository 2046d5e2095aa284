//! Cutting texts into chunks.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::headings::Headings;
use super::pause::{Pause, pauses};

/// Cuts texts into chunks of a limited length that begin with the end of the one before.
///
/// A chunk ends where the text pauses most in the second half of what fits: at a paragraph's end, else a line's, a
/// sentence's or a word's, and in the middle of a word only where there is no pause at all. Nothing but white space is
/// left out.
///
/// ```
/// use superstep_knowledge::rag::Chunker;
///
/// let chunks = Chunker::new(34, 16).split("One day it rained. They stayed in. Nobody minded.");
/// let texts: Vec<_> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
/// assert_eq!(texts, ["One day it rained. They stayed in.", "They stayed in. Nobody minded."]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunker {
    size: usize,
    overlap: usize,
}

impl Default for Chunker {
    /// Chunks of 1,000 characters, with up to 200 of the chunk before.
    fn default() -> Self {
        Self::new(1_000, 200)
    }
}

impl Chunker {
    /// Cuts into chunks of at most `size` characters that repeat at most `overlap` of the end of the chunk before. A
    /// size of 0 is one of 1, and at most half of a chunk is repeated.
    pub const fn new(size: usize, overlap: usize) -> Self {
        let size = if size == 0 { 1 } else { size };
        Self { size, overlap: if overlap > size / 2 { size / 2 } else { overlap } }
    }

    /// Returns the maximum number of characters of a chunk.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Returns the maximum number of characters that a chunk repeats of the chunk before it.
    pub const fn overlap(&self) -> usize {
        self.overlap
    }

    /// Cuts a text without headings.
    pub fn split(&self, text: &str) -> Vec<Chunk> {
        self.split_below(text, &Headings::none())
    }

    /// Cuts a text in Markdown: each chunk knows the headings that it stands below.
    pub fn split_markdown(&self, text: &str) -> Vec<Chunk> {
        self.split_below(text, &Headings::of(text))
    }

    fn split_below(&self, text: &str, headings: &Headings) -> Vec<Chunk> {
        let newlines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let line =
            |at| u32::try_from(newlines.partition_point(|newline| *newline < at) + 1).unwrap_or(u32::MAX);
        let mut last = 0;
        let chunk = |Range { start, end }: Range<usize>| {
            // What it repeats may stand below another heading.
            let new = &text[start.max(last)..end];
            let heading = headings.above(end - new.trim_start().len());
            last = end;
            Chunk {
                text: text[start..end].to_owned(),
                heading,
                line_start: line(start),
                line_end: line(end - 1),
            }
        };
        self.ranges(text).into_iter().map(chunk).collect()
    }

    /// Returns the positions of the chunks, in bytes.
    fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        // Lengths are in characters: the place of each, and behind them the end.
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let (pauses, end) = (pauses(text), places.len() - 1);
        let mut ranges = Vec::new();
        let (mut start, mut last) = (0, 0);
        loop {
            let cut = if end - start <= self.size { end } else { self.cut(&pauses, start, last) };
            let piece = &text[places[start]..places[cut]];
            let begin = places[start] + (piece.len() - piece.trim_start().len());
            let range = begin..begin + piece.trim().len();
            // Behind what was cut last there may be white space only.
            if !range.is_empty() && range.end > ranges.last().map_or(0, |last: &Range<usize>| last.end) {
                ranges.push(range);
            }
            if cut == end {
                return ranges;
            }
            (start, last) = (self.next_start(&pauses, start, cut), cut);
        }
    }

    /// Returns the end of a chunk that begins here, behind the end of the last one: its greatest pause, and the last of
    /// those.
    fn cut(&self, pauses: &[Pause], start: usize, last: usize) -> usize {
        let most = start + self.size;
        let within = |from| {
            let reach = pauses.partition_point(|pause| pause.at <= from);
            let reach = reach..pauses.partition_point(|pause| pause.end <= most);
            pauses[reach].iter().max_by_key(|pause| (pause.kind, pause.at)).map(|pause| pause.at)
        };
        within(start + self.size / 2).or_else(|| within(last)).unwrap_or(most)
    }

    /// Returns the start of the chunk behind a cut: it repeats as many whole sentences, or else words, as are allowed.
    fn next_start(&self, pauses: &[Pause], start: usize, cut: usize) -> usize {
        let least = (start + 1).max(cut.saturating_sub(self.overlap));
        let first = pauses.partition_point(|pause| pause.at < least);
        let repeated = || pauses[first..].iter().take_while(|pause| pause.at < cut);
        let sentence = repeated().find(|pause| pause.kind.ends_sentence());
        sentence.or_else(|| repeated().next()).map_or(cut, |pause| pause.at)
    }
}

/// A piece of a text that is found as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Chunk {
    /// Its text, without white space around it.
    pub text: String,
    /// The headings above it, outermost first, joined by ` > `; empty where there are none.
    pub heading: String,
    /// Its first line in the text, counted from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
}

#[cfg(test)]
mod tests;
