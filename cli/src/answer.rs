//! The trait that the answers of all verbs implement.

use std::borrow::Cow;
use std::fmt::Write;

use serde::Serialize;
use superstep_core::nonprinting::is_nonprinting;

use super::page::Page;
use super::screen::Exit;

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
