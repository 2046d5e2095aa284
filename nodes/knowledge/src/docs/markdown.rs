//! Cutting Markdown into passages.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::prose::{Lines, passage};
use super::{Passage, PassageKind};

/// The length in bytes above which a list is cut between its items and a table between its rows.
const LONG: usize = 1_200;

/// Cuts a Markdown document into its blocks, each with the headings above it.
///
/// A paragraph stays together with the code block that follows it, and one that ends in a colon with the list or table
/// that it announces, unless both are long.
pub(super) fn split(path: &str, text: &str) -> Vec<Passage> {
    let lines = Lines::of(text);
    let blocks = join_announced(text, blocks(text));
    blocks.iter().map(|block| passage(path, &block.heading, block.kind, text, &block.range, &lines)).collect()
}

struct Block {
    kind: PassageKind,
    heading: String,
    range: Range<usize>,
}

fn blocks(text: &str) -> Vec<Block> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut reader =
        Reader { text, headings: Vec::new(), title: None, depth: 0, pieces: Vec::new(), blocks: Vec::new() };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.event(event, range);
    }
    reader.blocks
}

struct Reader<'t> {
    text: &'t str,
    /// The headings above, outermost first.
    headings: Vec<(HeadingLevel, String)>,
    /// The heading being read.
    title: Option<String>,
    /// The number of open tags.
    depth: usize,
    /// The positions of the items or rows of the block being read.
    pieces: Vec<Range<usize>>,
    blocks: Vec<Block>,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                self.start(&tag, range);
                self.depth += 1;
            }
            Event::End(tag) => {
                self.depth -= 1;
                self.end(tag, range);
            }
            Event::Text(piece) | Event::Code(piece) => {
                if let Some(title) = &mut self.title {
                    title.push_str(&piece);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(title) = &mut self.title {
                    title.push(' ');
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { .. } => self.title = Some(String::new()),
            Tag::Item | Tag::TableHead | Tag::TableRow if self.depth == 1 => self.pieces.push(range),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        if let TagEnd::Heading(level) = tag {
            let title = self.title.take().unwrap_or_default();
            // Headings inside a quote or an item are text, not structure.
            if self.depth == 0 {
                self.headings.retain(|(above, _)| *above < level);
                self.headings.push((level, title));
            }
            return;
        }
        if self.depth > 0 {
            return;
        }
        let kind = match tag {
            TagEnd::Paragraph | TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => PassageKind::Prose,
            TagEnd::List(_) => PassageKind::List,
            TagEnd::Table => PassageKind::Table,
            TagEnd::CodeBlock => PassageKind::Code,
            _ => return,
        };
        let pieces = std::mem::take(&mut self.pieces);
        for range in cut(range, &pieces) {
            self.push(kind, range);
        }
    }

    fn push(&mut self, kind: PassageKind, range: Range<usize>) {
        let block = &self.text[range.clone()];
        // Whole lines: an indented block begins with its indentation.
        let start = range.start + (block.len() - block.trim_start_matches('\n').len());
        let end = range.start + block.trim_end().len();
        if start >= end {
            return;
        }
        let titles: Vec<_> = self.headings.iter().map(|(_, title)| title.as_str()).collect();
        self.blocks.push(Block { kind, heading: titles.join(" > "), range: start..end });
    }
}

/// Cuts a long block between its pieces, into runs that are not long if they can be.
fn cut(range: Range<usize>, pieces: &[Range<usize>]) -> Vec<Range<usize>> {
    if range.len() <= LONG || pieces.len() < 2 {
        return vec![range];
    }
    let mut runs = Vec::new();
    let mut start = range.start;
    for pair in pieces.windows(2) {
        if pair[1].end - start > LONG {
            runs.push(start..pair[1].start);
            start = pair[1].start;
        }
    }
    runs.push(start..range.end);
    runs
}

fn join_announced(text: &str, blocks: Vec<Block>) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks {
        if let Some(before) = joined.last_mut()
            && before.kind == PassageKind::Prose
            && block.kind != PassageKind::Prose
            && before.heading == block.heading
            && (block.kind == PassageKind::Code || text[before.range.clone()].ends_with(':'))
            && block.range.end - before.range.start <= LONG
        {
            before.kind = block.kind;
            before.range.end = block.range.end;
            continue;
        }
        joined.push(block);
    }
    joined
}

#[cfg(test)]
mod tests;
