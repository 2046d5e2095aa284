//! The screen that verbs write their answers to.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::Write;

use serde::Serialize;
use superstep_core::nonprinting::is_nonprinting;

use super::page::Page;

/// The streams that a verb writes to.
pub struct Screen<'w> {
    /// Receives the answer.
    pub out: &'w mut dyn Write,
    /// Receives errors.
    pub err: &'w mut dyn Write,
    /// The look of the answer.
    pub look: Look,
}

impl fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("look", &self.look).finish_non_exhaustive()
    }
}

/// The look of output for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The number of columns; longer lines are cut. `None` cuts nothing.
    pub width: Option<usize>,
    /// `true` for coloured output.
    pub color: bool,
}

impl Look {
    /// For a file or another program: nothing is cut, and there are no colours.
    pub const PIPED: Self = Self { width: None, color: false };

    /// Returns the look for a terminal with this many columns, with colours.
    #[must_use]
    pub const fn terminal(columns: usize) -> Self {
        Self { width: Some(columns), color: true }
    }
}

/// The result of a verb: the exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The verb succeeded.
    Fine = 0,
    /// The answer is no: nothing was found, something differs, or the data is damaged.
    No = 1,
    /// The request is invalid: wrong usage, or a file that cannot be read.
    Unusable = 2,
    /// A run stopped early and can be continued: it waits for an answer, or is at a breakpoint or a limit.
    Unfinished = 3,
    /// An agent reached a limit of its budget, its turns or its context window.
    Limit = 4,
    /// The model of an agent failed.
    Model = 5,
    /// A hook ended the work of an agent.
    Hook = 6,
    /// A run was cancelled with Ctrl-C and can be continued.
    Cancelled = 130,
}

/// An answer: a JSON document of a stable shape, which can also be shown as text for people.
pub(super) trait Answer: Serialize {
    /// Writes it for people.
    fn show(&self, page: &mut Page);

    /// Returns the exit code for this answer.
    fn exit(&self) -> Exit {
        Exit::Fine
    }
}

/// Escapes as `\uXXXX` the characters of a JSON document that a terminal would hide or obey. The values stay the same.
pub(super) fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_hidden) {
        return json.into();
    }
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        match is_hidden(letter) {
            false => escaped.push(letter),
            true => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                write!(escaped, "\\u{unit:04x}").expect("a text takes what is written to it");
            }),
        }
    }
    escaped.into()
}

/// Returns `true` if a character is nonprinting and part of a text. Line breaks and tabs stand between values.
fn is_hidden(letter: char) -> bool {
    is_nonprinting(letter) && !matches!(letter, '\n' | '\r' | '\t')
}
