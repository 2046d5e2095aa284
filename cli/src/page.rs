//! Builds styled text for people.

use anstyle::{AnsiColor, Color, Style};
use superstep_core::nonprinting::is_nonprinting;

use super::screen::{Look, escape_json};

/// The style of less important text.
pub(super) const DIM: Style = Style::new().dimmed();
/// The style of ids.
pub(super) const ID: Style = fg(AnsiColor::Yellow);
/// The style of what exists, is new, or is healthy.
pub(super) const GOOD: Style = fg(AnsiColor::Green);
/// The style of what is missing or wrong.
pub(super) const BAD: Style = fg(AnsiColor::Red);
/// The style of what changed or waits.
pub(super) const NOTE: Style = fg(AnsiColor::Cyan);
/// The style of names.
pub(super) const NAME: Style = Style::new().bold();
/// The style of everything else.
pub(super) const PLAIN: Style = Style::new();

const fn fg(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(color)))
}

/// A piece of text in one style.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) style: Style,
}

/// Returns text in a style. Characters that are invisible, move the cursor or reorder the line are escaped, because
/// they come from the file.
pub(super) fn span(style: Style, text: impl AsRef<str>) -> Span {
    let mut plain = String::with_capacity(text.as_ref().len());
    for letter in text.as_ref().chars() {
        match letter {
            _ if is_nonprinting(letter) => plain.extend(letter.escape_default()),
            _ => plain.push(letter),
        }
    }
    Span { text: plain, style }
}

/// Returns text without a style.
pub(super) fn plain(text: impl AsRef<str>) -> Span {
    span(PLAIN, text)
}

/// Tells how many entries of a list are shown, if not all are.
pub(super) fn rest(page: &mut Page, shown: usize, total: usize) {
    if shown < total {
        page.line([span(DIM, format!("{shown} of {total} are listed"))]);
    }
}

/// The text so far.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) look: Look,
    text: String,
}

impl Page {
    pub(super) fn new(look: Look) -> Self {
        Self { look, text: String::new() }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Adds a line, cut to the width.
    pub(super) fn line(&mut self, spans: impl IntoIterator<Item = Span>) {
        let mut room = self.look.width.unwrap_or(usize::MAX).max(20);
        for Span { text, style } in spans {
            let length = text.chars().count();
            let shown = match length <= room {
                true => text,
                false => text.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
            };
            room = room.saturating_sub(length);
            if self.look.color && style != PLAIN && !shown.is_empty() {
                self.text.push_str(&format!("{style}{shown}{style:#}"));
            } else {
                self.text.push_str(&shown);
            }
            if room == 0 {
                break;
            }
        }
        let end = self.text.trim_end_matches(' ').len();
        self.text.truncate(end);
        self.text.push('\n');
    }

    /// Adds a document without cutting it: it is for another program, and all texts in it are JSON.
    pub(super) fn document(&mut self, text: &str) {
        self.text.push_str(&escape_json(text));
        self.text.push('\n');
    }

    /// Adds an empty line.
    pub(super) fn gap(&mut self) {
        self.text.push('\n');
    }

    /// Adds a title above the following lines.
    pub(super) fn title(&mut self, text: &str) {
        self.gap();
        self.line([span(NAME, text)]);
    }
}
