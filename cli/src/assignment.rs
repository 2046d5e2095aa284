//! Parses `PATH=JSON`: a value and the place in the state to put it.

use serde_json::Value;

use superstep_core::state::Json;
use superstep_inspect::{Path, Segment};

use super::failure::Failure;

/// A place in the state, and the text of its new value.
#[derive(Debug)]
pub(super) struct Assignment<'t> {
    pub(super) path: Path,
    text: &'t str,
    value: &'t str,
}

impl<'t> Assignment<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Self, Failure> {
        let Some((before, value)) = split(text) else {
            return Err(Failure::unusable(format!("{text:?} is not of the form PATH=JSON")));
        };
        let path: Path = before.parse().map_err(|error| Failure::unusable(format!("{error}")))?;
        match path.segments().first() {
            Some(Segment::Key(_)) => Ok(Self { path, text: before, value }),
            _ => Err(Failure::unusable(format!("{before} names no field: a path begins with one"))),
        }
    }

    /// Returns the field that the path leads into.
    pub(super) fn field(&self) -> &str {
        match self.path.segments().first() {
            Some(Segment::Key(field)) => field,
            _ => unreachable!("no other path was let in"),
        }
    }

    /// Returns the new value. Errors do not repeat a text that may be secret.
    pub(super) fn value(&self, secret: bool) -> Result<Json, Failure> {
        let Self { text: path, value, .. } = self;
        let parsed = Json::parse(*value).and_then(|json| json.decode::<Value>().map(|_| json));
        parsed.map_err(|error| {
            let mended = format!("{path}={}", Value::from(*value)).replace('\'', r"'\''");
            Failure::unusable(match value.trim_start().as_bytes().first() {
                _ if secret => {
                    format!(
                        "the value of {path} is not JSON: a text needs quotes, as in --set '{path}=\"…\"'"
                    )
                }
                Some(b'{' | b'[' | b'"') => format!("the value of {path} is not JSON: {error}"),
                _ => format!("{value:?} is not JSON: a text needs quotes, as in --set '{mended}'"),
            })
        })
    }
}

/// Splits at the first `=` outside brackets. A JSON pointer has no brackets.
fn split(text: &str) -> Option<(&str, &str)> {
    if text.starts_with('/') {
        return text.split_once('=');
    }
    let (mut bracketed, mut quoted, mut escaped) = (false, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' if bracketed => quoted = !quoted,
            _ if quoted => {}
            '[' => bracketed = true,
            ']' => bracketed = false,
            '=' if !bracketed => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sign_outside_brackets_parts_place_and_value() {
        assert_eq!(split("a=1"), Some(("a", "1")));
        assert_eq!(split(r#"a="b=c""#), Some(("a", r#""b=c""#)));
        assert_eq!(split(r#"a[id="x]=\"="].b={"c":"="}"#), Some((r#"a[id="x]=\"="].b"#, r#"{"c":"="}"#)));
        assert_eq!(split("a[id=x].b=1"), Some(("a[id=x].b", "1")));
        assert_eq!(split("/a[/0=1"), Some(("/a[/0", "1")));
        assert_eq!(split("a[id=x]"), None);
        assert_eq!(split("a"), None);
    }

    #[test]
    fn a_text_without_quotes_is_mended() {
        let error = |text: &str, secret| Assignment::parse(text).unwrap().value(secret).unwrap_err().text;
        assert_eq!(
            error("draft=it's me", false),
            r#""it's me" is not JSON: a text needs quotes, as in --set 'draft="it'\''s me"'"#
        );
        assert!(!error("token=sesame", true).contains("sesame"));
        assert!(error("facts=[1,", false).starts_with("the value of facts is not JSON: "));
        assert_eq!(
            Assignment::parse("[0]=1").unwrap_err().text,
            "[0] names no field: a path begins with one"
        );
        assert_eq!(Assignment::parse("draft").unwrap_err().text, "\"draft\" is not of the form PATH=JSON");
    }
}
