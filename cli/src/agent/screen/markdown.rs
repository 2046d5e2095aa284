//! Markdown as lines, while it arrives.

use anstyle::Style;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::line::{Line, wrap};
use crate::page::{DIM, NAME, NOTE, PLAIN, Span, span};
use crate::screen::Look;

/// A Markdown text that arrives in pieces. Each block is returned once, when it is complete; of a fenced block of code
/// at the top, each line.
#[derive(Debug)]
pub(super) struct Markdown {
    /// The part that is not returned yet.
    pending: String,
    /// The fence of the open block of code.
    fence: Option<Fence>,
    /// `true` if the next block is separated from the one before.
    is_begun: bool,
}

/// The beginning of a block of code.
#[derive(Clone, Copy, Debug)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn of(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = line.chars().take_while(|letter| *letter == mark).count();
        (length >= 3).then_some(Self { mark, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.chars().all(|letter| letter == self.mark) && line.chars().count() >= self.length
    }
}

/// A block at the top of a text.
struct Block {
    start: usize,
    end: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// It ends with its line.
    Line,
    /// It ends with an empty line.
    Text,
    /// It ends where another block begins.
    Open,
    /// It is returned line by line.
    Fenced,
}

impl Markdown {
    pub(super) const fn new() -> Self {
        Self { pending: String::new(), fence: None, is_begun: false }
    }

    /// Adds a piece, and returns the lines that are complete now.
    pub(super) fn push(&mut self, piece: &str, look: Look) -> Vec<Line> {
        self.pending.push_str(piece);
        match piece.contains('\n') {
            true => self.complete(look, false),
            false => Vec::new(),
        }
    }

    /// Returns the rest, and makes ready for another text.
    pub(super) fn end(&mut self, look: Look) -> Vec<Line> {
        let mut lines = self.complete(look, true);
        let rest = std::mem::replace(self, Self::new());
        if rest.fence.is_some() {
            lines.extend(rest.pending.lines().map(code));
        }
        lines
    }

    fn complete(&mut self, look: Look, is_end: bool) -> Vec<Line> {
        let mut lines = Vec::new();
        loop {
            if let Some(fence) = self.fence {
                let Some(end) = self.pending.find('\n') else { return lines };
                let line: String = self.pending.drain(..=end).collect();
                let line = line.trim_end();
                let is_closed = fence.is_closed_by(line);
                lines.push(if is_closed { Line::new(DIM, line) } else { code(line) });
                self.fence = self.fence.filter(|_| !is_closed);
                continue;
            }
            let whole =
                if is_end { self.pending.len() } else { self.pending.rfind('\n').map_or(0, |at| at + 1) };
            let blocks = blocks(&self.pending[..whole]);
            let Some(last) = blocks.last() else { return lines };
            let is_complete = match last.kind {
                Kind::Line => true,
                Kind::Text => self.pending[..whole].ends_with("\n\n"),
                Kind::Open | Kind::Fenced => false,
            };
            let is_fenced = last.kind == Kind::Fenced;
            let end = if (is_end && !is_fenced) || is_complete { last.end } else { last.start };
            let source: String = self.pending.drain(..end).collect();
            lines.extend(self.rendered(&source, look));
            if !is_fenced {
                return lines;
            }
            // The last block is now the first one: its first line, and then the others.
            let line_end = self.pending.find('\n').map_or(self.pending.len(), |at| at + 1);
            let opening: String = self.pending.drain(..line_end).collect();
            self.separate(&mut lines);
            lines.push(Line::new(DIM, opening.trim_end()));
            self.fence = Fence::of(&opening);
        }
    }

    /// Puts an empty line between blocks.
    fn separate(&mut self, lines: &mut Vec<Line>) {
        if self.is_begun {
            lines.push(Line::default());
        }
        self.is_begun = true;
    }

    fn rendered(&mut self, source: &str, look: Look) -> Vec<Line> {
        let mut lines = Vec::new();
        for block in blocks(source) {
            self.separate(&mut lines);
            lines.extend(Writer::new(&source[block.start..block.end], look).lines());
        }
        lines
    }
}

fn code(line: &str) -> Line {
    Line::new(NOTE, line)
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Returns the blocks at the top of a text.
fn blocks(source: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        let kind = match &event {
            Event::Start(Tag::Paragraph | Tag::Table(_) | Tag::BlockQuote(_) | Tag::HtmlBlock) => Kind::Text,
            Event::Start(Tag::Heading { .. }) | Event::Rule => Kind::Line,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => Kind::Fenced,
            _ => Kind::Open,
        };
        if depth == 0 && !matches!(event, Event::End(_)) {
            blocks.push(Block { start: range.start, end: range.end, kind });
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    // A fence that is closed within the text is like any other block, unless it is the last one.
    let last = blocks.len().saturating_sub(1);
    blocks
        .iter_mut()
        .take(last)
        .filter(|block| block.kind == Kind::Fenced)
        .for_each(|it| it.kind = Kind::Open);
    blocks
}

/// Writes a block.
struct Writer<'s> {
    source: &'s str,
    look: Look,
    lines: Vec<Line>,
    /// The text of the open paragraph.
    spans: Vec<Span>,
    /// The styles of the open spans, the innermost last.
    styles: Vec<Style>,
    /// The margins of the open quotes and items, the outermost first: for their first lines, and for the others.
    margins: Vec<(Option<Span>, Span)>,
    /// The numbers of the next items of the open lists; `None` for bullets.
    numbers: Vec<Option<u64>>,
    links: Vec<(String, usize)>,
}

impl<'s> Writer<'s> {
    fn new(source: &'s str, look: Look) -> Self {
        let (lines, spans, styles) = (Vec::new(), Vec::new(), Vec::new());
        let (margins, numbers, links) = (Vec::new(), Vec::new(), Vec::new());
        Self { source, look, lines, spans, styles, margins, numbers, links }
    }

    fn lines(mut self) -> Vec<Line> {
        let mut events = Parser::new_ext(self.source, options()).into_offset_iter();
        while let Some((event, range)) = events.next() {
            match event {
                Event::Start(Tag::Table(_)) => {
                    // A table is shown as it was written.
                    self.verbatim(&self.source[range.clone()], PLAIN);
                    events.by_ref().find(|(event, _)| matches!(event, Event::End(TagEnd::Table)));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let is_fenced = matches!(kind, CodeBlockKind::Fenced(_));
                    self.code(&self.source[range.clone()], is_fenced);
                    events.by_ref().find(|(event, _)| matches!(event, Event::End(TagEnd::CodeBlock)));
                }
                Event::Start(tag) => self.start(tag),
                Event::End(tag) => self.end(tag),
                Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.say(&text),
                Event::Code(text) => self.marked("`", NOTE, &text),
                Event::SoftBreak => self.say(" "),
                Event::HardBreak => self.flush(),
                Event::Rule => {
                    self.spans.push(span(DIM, "─".repeat(self.look.width.unwrap_or(40).min(40))));
                    self.flush();
                }
                Event::TaskListMarker(is_done) => self.say(if is_done { "[x] " } else { "[ ] " }),
                _ => {}
            }
        }
        self.flush();
        self.lines
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(PLAIN)
    }

    /// Opens a style on top of the present one.
    fn open(&mut self, more: Style) {
        let style = self.style();
        let color = more.get_fg_color().or(style.get_fg_color());
        self.styles.push(Style::new().fg_color(color).effects(style.get_effects() | more.get_effects()));
    }

    fn say(&mut self, text: &str) {
        let style = self.style();
        let mut lines = text.split('\n');
        self.spans.push(span(style, lines.next().unwrap_or_default().replace('\t', " ")));
        for line in lines {
            self.flush();
            self.spans.push(span(style, line.replace('\t', " ")));
        }
    }

    /// Without colours, the marks of Markdown stay.
    fn mark(&mut self, mark: &str) {
        if !self.look.color {
            self.say(mark);
        }
    }

    fn marked(&mut self, mark: &str, style: Style, text: &str) {
        self.mark(mark);
        self.open(style);
        self.say(text);
        self.styles.pop();
        self.mark(mark);
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.open(NAME);
                self.say(&format!("{} ", "#".repeat(level as usize)));
            }
            Tag::BlockQuote(_) => {
                let bar = span(DIM, "│ ");
                self.margins.push((None, bar));
            }
            Tag::List(first) => {
                self.flush();
                self.numbers.push(first);
            }
            Tag::Item => {
                let sign = match self.numbers.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                let rest = " ".repeat(sign.chars().count());
                self.margins.push((Some(span(DIM, sign)), span(PLAIN, rest)));
            }
            Tag::Emphasis => self.mark_and_open("*", Style::new().italic()),
            Tag::Strong => self.mark_and_open("**", Style::new().bold()),
            Tag::Strikethrough => self.mark_and_open("~~", Style::new().strikethrough()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.spans.len()));
                self.open(Style::new().underline());
            }
            _ => {}
        }
    }

    fn mark_and_open(&mut self, mark: &str, style: Style) {
        self.mark(mark);
        self.open(style);
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.flush();
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.flush();
                self.margins.pop();
            }
            TagEnd::List(_) => drop(self.numbers.pop()),
            TagEnd::Emphasis => self.close_and_mark("*"),
            TagEnd::Strong => self.close_and_mark("**"),
            TagEnd::Strikethrough => self.close_and_mark("~~"),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let Some((address, from)) = self.links.pop() else { return };
                let text: String = self.spans.iter().skip(from).map(|span| span.text.as_str()).collect();
                if text != address && !address.is_empty() {
                    self.spans.push(span(DIM, format!(" ({address})")));
                }
            }
            _ => {}
        }
    }

    fn close_and_mark(&mut self, mark: &str) {
        self.styles.pop();
        self.mark(mark);
    }

    /// Returns the margin of the next line, and that of those after it.
    fn margin(&mut self) -> (Vec<Span>, Vec<Span>) {
        let rest: Vec<_> = self.margins.iter().map(|(_, rest)| rest.clone()).collect();
        let first = self.margins.iter_mut().map(|(first, rest)| first.take().unwrap_or_else(|| rest.clone()));
        (first.collect(), rest)
    }

    /// Ends the line.
    fn flush(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let (first, rest) = self.margin();
        self.lines.extend(wrap(&spans, self.look.width.unwrap_or(usize::MAX), &first, &rest));
    }

    fn verbatim(&mut self, source: &str, style: Style) {
        for line in source.lines() {
            let (margin, _) = self.margin();
            let line = Line::new(style, line);
            self.lines.push(Line::of(margin.into_iter().chain(line.0)));
        }
    }

    /// Writes a block of code as it was written, but without the margin that the source has in a list.
    fn code(&mut self, source: &str, is_fenced: bool) {
        self.flush();
        let margin: usize = self.margins.iter().map(|(_, rest)| rest.text.chars().count()).sum();
        let last = source.lines().count().saturating_sub(1);
        for (at, line) in source.lines().enumerate() {
            let blanks = line.len() - line.trim_start_matches(' ').len();
            let line = if at == 0 { line } else { &line[blanks.min(margin)..] };
            let is_fence = is_fenced && (at == 0 || at == last && Fence::of(line).is_some());
            self.verbatim(line, if is_fence { DIM } else { NOTE });
            if line.is_empty() {
                self.lines.push(Line::default());
            }
        }
    }
}

#[cfg(test)]
mod tests;
