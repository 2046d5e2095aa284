//! The place in a JSON text where a value does not fit its type, with the expected and the actual value.
//!
//! It is determined after decoding has failed, from the position in serde's error. So successful decoding costs
//! nothing, and no code is generated for each type.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

/// The part of a value that does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The path inside the value, as in `[3].name`; empty for the whole value.
    pub path: String,
    /// The expectation of the value's type.
    pub expected: String,
    /// The actual value: JSON text, truncated if it is long; `<secret>` in a secret field.
    pub found: String,
}

/// The expectation of a type that rejects a value for a reason of its own.
const ANOTHER: &str = "another value";

/// The maximum number of characters of a text in `found`.
const SHOWN: usize = 60;

impl Mismatch {
    /// Finds the mismatch from the `error` of decoding `text`.
    pub(super) fn of(text: &str, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
        let read = read(text, error.line(), error.column());
        // serde's position is after the value, except for a list or an object that was not entered.
        let not_entered =
            ["invalid type: sequence", "invalid type: map"].iter().any(|kind| message.starts_with(kind))
                && matches!(text.as_bytes().get(read), Some(b'[' | b'{'));
        let offset = if not_entered { read } else { read.saturating_sub(1) };
        let (path, found) = Walk { text, offset }.find();
        Self { path, expected: expected(message), found: shortened(found) }
    }

    /// Returns the mismatch without the value, the keys of maps, and the type's own message about the value.
    pub(super) fn redacted(&self) -> Self {
        let expected = if self.expected.starts_with(ANOTHER) { ANOTHER } else { &self.expected };
        Self { path: String::new(), expected: expected.to_owned(), found: "<secret>".to_owned() }
    }
}

impl core::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { path, expected, found } = self;
        if !path.is_empty() {
            write!(f, " at {path}")?;
        }
        write!(f, ": expected {expected}, found {found}")
    }
}

/// Extracts the expectation from serde's message.
fn expected(message: &str) -> String {
    if let Some((_, expected)) = message.rsplit_once(", expected ") {
        return expected.to_owned();
    }
    match message.strip_prefix("missing field ") {
        Some(field) => format!("an object with the field {field}"),
        None => format!("{ANOTHER} ({message})"),
    }
}

fn shortened(found: &str) -> String {
    match found.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &found[..end]),
        None => found.to_owned(),
    }
}

/// Returns the number of bytes before a position. Lines are counted from 1.
fn read(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column).min(text.len())
}

/// A walk through a text that is valid JSON, down to the innermost value that holds an offset.
struct Walk<'t> {
    text: &'t str,
    offset: usize,
}

impl<'t> Walk<'t> {
    fn find(&self) -> (String, &'t str) {
        let mut path = String::new();
        let mut start = self.blank(0);
        loop {
            match self.child(start) {
                Some((step, child)) => {
                    path.push_str(&step);
                    start = child;
                }
                None => return (path.trim_start_matches('.').to_owned(), &self.text[start..self.end(start)]),
            }
        }
    }

    /// Returns the member or item of the value at `start` that contains the offset: its part of the path, and its
    /// position.
    fn child(&self, start: usize) -> Option<(String, usize)> {
        let open = self.byte(start);
        if !matches!(open, b'{' | b'[') {
            return None;
        }
        let mut at = self.blank(start + 1);
        let mut index = 0_usize;
        while at < self.text.len() && !matches!(self.byte(at), b'}' | b']') {
            let mut step = format!("[{index}]");
            if open == b'{' {
                let key = self.end(at);
                let name: String = serde_json::from_str(&self.text[at..key]).unwrap_or_default();
                step = match name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                    true => format!(".{name}"),
                    false => format!("[{}]", &self.text[at..key]),
                };
                // Skips the colon.
                at = self.blank(self.blank(key) + 1);
            }
            let end = self.end(at);
            if (at..end).contains(&self.offset) {
                return Some((step, at));
            }
            at = self.blank(end);
            if self.byte(at) == b',' {
                at = self.blank(at + 1);
            }
            index += 1;
        }
        None
    }

    /// Returns the position after the value that begins at `start`.
    fn end(&self, start: usize) -> usize {
        let mut depth = 0_usize;
        let mut at = start;
        while at < self.text.len() {
            match self.byte(at) {
                b'"' => {
                    at = self.behind_string(at);
                    if depth == 0 {
                        return at;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return at,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => return at,
                _ => {}
            }
            at += 1;
        }
        at
    }

    fn behind_string(&self, start: usize) -> usize {
        let mut at = start + 1;
        while at < self.text.len() {
            match self.byte(at) {
                b'\\' => at += 2,
                b'"' => return at + 1,
                _ => at += 1,
            }
        }
        self.text.len()
    }

    fn blank(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), b' ' | b'\n' | b'\r' | b'\t') {
            at += 1;
        }
        at
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use serde::Deserialize;

    use super::*;
    use crate::state::Json;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only decoded")]
    struct Item {
        name: String,
        size: u8,
        #[serde(default)]
        kind: Option<Kind>,
        #[serde(default)]
        tags: BTreeMap<String, Vec<u32>>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only decoded")]
    enum Kind {
        Plain,
        Sized(u8),
    }

    fn told(text: &str) -> String {
        let json = Json::parse(text).unwrap();
        let error = json.decode::<Vec<Item>>().unwrap_err();
        error.mismatch().unwrap().to_string()
    }

    #[test]
    fn a_mismatch_names_path_expected_and_found() {
        let cases = [
            (r#""text""#, r#": expected a sequence, found "text""#),
            (r#"[{"name":7,"size":1}]"#, " at [0].name: expected a string, found 7"),
            (r#"[{"name":"a","size":1},{"name":"b","size":300}]"#, " at [1].size: expected u8, found 300"),
            (r#"[{"size":1}]"#, r#" at [0]: expected an object with the field `name`, found {"size":1}"#),
            (
                r#"[{"name":"a","size":1,"kind":"Big"}]"#,
                r#" at [0].kind: expected `Plain` or `Sized`, found "Big""#,
            ),
            (
                r#"[{"name":"a","size":1,"kind":{"Sized":"x"}}]"#,
                r#" at [0].kind.Sized: expected u8, found "x""#,
            ),
            (
                r#"[ {"name":"},[\"", "size":1 , "tags":{"a b":[1, 2,true]}} ]"#,
                r#" at [0].tags["a b"][2]: expected u32, found true"#,
            ),
            (r#"[{"name":["a"],"size":1}]"#, r#" at [0].name: expected a string, found ["a"]"#),
            (r#"{"0":{}}"#, r#": expected a sequence, found {"0":{}}"#),
            (
                "[{\"name\":\"a\",\n \"size\":\n {\"deep\":[1]}}]",
                " at [0].size: expected u8, found {\"deep\":[1]}",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn a_long_value_is_shortened() {
        let text = format!("\"{}\"", "é".repeat(100));
        let error = Json::parse(text).unwrap().decode::<u8>().unwrap_err();
        let found = &error.mismatch().unwrap().found;
        assert!(found.ends_with('…') && found.chars().count() == SHOWN + 1, "{found}");
    }

    #[test]
    fn a_message_of_the_types_own_is_reported_whole() {
        let error = Json::parse("\"not an id\"").unwrap().decode::<uuid::Uuid>().unwrap_err();
        let mismatch = error.mismatch().unwrap();
        assert!(mismatch.expected.starts_with("another value (UUID"), "{mismatch}");
    }
}
