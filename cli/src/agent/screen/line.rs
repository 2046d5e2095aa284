//! Styled lines.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::page::{PLAIN, Span, span};

/// A line of styled text, without its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(pub(crate) Vec<Span>);

impl Line {
    /// Makes a line of pieces.
    pub(crate) fn of(spans: impl IntoIterator<Item = Span>) -> Self {
        Self(spans.into_iter().collect())
    }

    /// Makes a line of one piece. Tabs become spaces.
    pub(crate) fn new(style: Style, text: &str) -> Self {
        Self::of([span(style, text.trim_end_matches('\r').replace('\t', "    "))])
    }

    /// Returns the number of columns.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|span| span.text.width()).sum()
    }

    /// Cuts the line to so many columns; a mark takes the place of the rest.
    pub(crate) fn cut(self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut room = columns.saturating_sub(1);
        let mut kept = Vec::new();
        for Span { text, style } in self.0 {
            let mut end = 0;
            for (at, letter) in text.char_indices() {
                let width = letter.width().unwrap_or(0);
                if width > room {
                    kept.push(Span { text: format!("{}…", &text[..end]), style });
                    return Self(kept);
                }
                room -= width;
                end = at + letter.len_utf8();
            }
            kept.push(Span { text, style });
        }
        Self(kept)
    }

    /// Puts a piece before the line.
    pub(crate) fn after(mut self, first: Span) -> Self {
        self.0.insert(0, first);
        self
    }

    /// Returns the line as text for a terminal, with colours or without.
    pub(crate) fn text(&self, color: bool) -> String {
        let mut text = String::new();
        for Span { text: piece, style } in &self.0 {
            match color && *style != PLAIN && !piece.is_empty() {
                true => text.push_str(&format!("{style}{piece}{style:#}")),
                false => text.push_str(piece),
            }
        }
        text
    }
}

/// Breaks text between words into lines of at most so many columns. A longer word stays whole, so that it can be
/// copied. The first line begins with `first`, the others with `rest`.
pub(crate) fn wrap(spans: &[Span], columns: usize, first: &[Span], rest: &[Span]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line(first.to_vec());
    let mut width = line.width();
    // The word so far, with the space before it.
    let (mut word, mut word_width, mut is_begun) = (Vec::new(), 0, false);
    let mut place = |word: &mut Vec<(char, Style)>, word_width: &mut usize, is_begun: &mut bool| {
        if *is_begun && width + *word_width > columns {
            lines.push(std::mem::replace(&mut line, Line(rest.to_vec())));
            width = line.width();
            if word.first().is_some_and(|(letter, _)| *letter == ' ') {
                word.remove(0);
                *word_width -= 1;
            }
        }
        width += *word_width;
        *word_width = 0;
        *is_begun |= !word.is_empty();
        word.drain(..).for_each(|(letter, style)| match line.0.last_mut() {
            Some(last) if last.style == style => last.text.push(letter),
            _ => line.0.push(Span { text: letter.to_string(), style }),
        });
    };
    for Span { text, style } in spans {
        for letter in text.chars() {
            if letter == ' ' {
                place(&mut word, &mut word_width, &mut is_begun);
            }
            word_width += letter.width().unwrap_or(0);
            word.push((letter, *style));
        }
    }
    place(&mut word, &mut word_width, &mut is_begun);
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{BAD, plain};

    fn wrapped(text: &str, columns: usize) -> Vec<String> {
        wrap(&[plain(text)], columns, &[plain("- ")], &[plain("  ")])
            .iter()
            .map(|it| it.text(false))
            .collect()
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 10), ["- one two", "  three"]);
        assert_eq!(wrapped("a https://example.org/long b", 10), ["- a", "  https://example.org/long", "  b"]);
        assert_eq!(wrapped("", 10), ["- "]);
        assert_eq!(wrapped("日本 日本", 7), ["- 日本", "  日本"]);
    }

    #[test]
    fn a_line_is_cut_by_columns_and_keeps_its_styles() {
        let line = Line::of([span(BAD, "日本"), plain(" is cut")]);
        assert_eq!(line.clone().cut(11).text(false), "日本 is cut");
        assert_eq!(line.clone().cut(7).text(false), "日本 i…");
        assert_eq!(line.clone().cut(4).text(false), "日…");
        assert_eq!(line.clone().cut(7).text(true), "\u{1b}[31m日本\u{1b}[0m i…");
        assert_eq!(line.cut(0).text(false), "…");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(Line::new(PLAIN, "a\u{1b}[2J\tb\r").text(true), "a\\u{1b}[2J    b");
    }
}
