//! Paths into a JSON value.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A path into a JSON value: `draft`, `facts[2].text`, `notes[id="a"].done`, `["a key"].b`. The path of the whole value
/// is `.`.
///
/// The parser also accepts a JSON pointer such as `/facts/2/text`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Vec<Segment>);

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// The key of an object's member, or, if it is a number, the position of a list's item.
    Key(String),
    /// The position of a list's item.
    Index(usize),
    /// The id of a list's item, as JSON text.
    Item(String),
}

/// An error for a text that is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a path: {expected} is expected at character {at}")]
pub struct PathError {
    /// The text.
    pub text: String,
    /// The position of the error, in characters from 0.
    pub at: usize,
    /// The text that is expected there.
    pub expected: &'static str,
}

impl Path {
    /// Returns the path of the whole value.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Returns the steps of the path.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Returns the path that is extended by one step.
    #[must_use]
    pub fn then(&self, segment: Segment) -> Self {
        let mut further = self.0.clone();
        further.push(segment);
        Self(further)
    }

    /// Returns the part of `value` at this path; `None` if there is none.
    #[must_use]
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, segment| segment.get(value))
    }

    pub(super) fn get_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.0.iter().try_fold(value, |value, segment| match (value, segment) {
            (Value::Array(items), _) => {
                let at = segment.index_in(items)?;
                items.get_mut(at)
            }
            (Value::Object(members), Segment::Key(key)) => members.get_mut(key),
            _ => None,
        })
    }

    /// Returns `true` if this path is `other` or leads into it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl Segment {
    /// Returns the position to which this step leads in a list; `id_of` returns the id of an item, in the form of
    /// paths.
    pub(super) fn position<T>(&self, items: &[T], id_of: impl Fn(&T) -> Option<String>) -> Option<usize> {
        let at = match self {
            Self::Index(at) => *at,
            Self::Key(key) => key.parse().ok()?,
            Self::Item(id) => items.iter().position(|item| id_of(item).as_ref() == Some(id))?,
        };
        (at < items.len()).then_some(at)
    }

    pub(super) fn index_in(&self, items: &[Value]) -> Option<usize> {
        self.position(items, |item| item.get("id").map(text_of))
    }

    fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (value, self) {
            (Value::Array(items), _) => items.get(self.index_in(items)?),
            (Value::Object(members), Self::Key(key)) => members.get(key),
            _ => None,
        }
    }
}

/// Returns an id in the form of paths.
pub(super) fn text_of(id: &Value) -> String {
    id.to_string()
}

impl FromIterator<Segment> for Path {
    fn from_iter<I: IntoIterator<Item = Segment>>(segments: I) -> Self {
        Self(segments.into_iter().collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if is_bare(key) && position == 0 => f.write_str(key)?,
                Segment::Key(key) if is_bare(key) => write!(f, ".{key}")?,
                Segment::Key(key) => write!(f, "[{}]", Value::from(key.as_str()))?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Item(id) => write!(f, "[id={id}]")?,
            }
        }
        Ok(())
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Returns `true` if a key is written without quotes.
fn is_bare(key: &str) -> bool {
    !key.is_empty() && !key.starts_with('/') && key.chars().all(is_word)
}

fn is_word(c: char) -> bool {
    !matches!(c, '.' | '[' | ']' | '"' | '=') && !c.is_whitespace() && !c.is_control()
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        if let Some(pointer) = text.strip_prefix('/') {
            let unescaped = |key: &str| key.replace("~1", "/").replace("~0", "~");
            return Ok(pointer.split('/').map(|key| Segment::Key(unescaped(key))).collect());
        }
        if text == "." {
            return Ok(Self::root());
        }
        Parser { text, rest: text }.path()
    }
}

struct Parser<'t> {
    text: &'t str,
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn path(mut self) -> Result<Path, PathError> {
        let mut segments = Vec::new();
        if !self.rest.starts_with('[') {
            segments.push(Segment::Key(self.word()?));
        }
        while !self.rest.is_empty() {
            if self.take(".") {
                segments.push(Segment::Key(self.word()?));
            } else if self.take("[") {
                segments.push(self.bracketed()?);
            } else {
                return Err(self.expected("`.` or `[`"));
            }
        }
        Ok(Path(segments))
    }

    fn bracketed(&mut self) -> Result<Segment, PathError> {
        let segment = if self.take("id=") {
            Segment::Item(self.id()?)
        } else if self.rest.starts_with('"') {
            match self.json()? {
                Value::String(key) => Segment::Key(key),
                _ => return Err(self.expected("a key")),
            }
        } else {
            let digits = self.until(|c| !c.is_ascii_digit());
            Segment::Index(digits.parse().map_err(|_| self.expected("a position, \"a key\" or id=…"))?)
        };
        match self.take("]") {
            true => Ok(segment),
            false => Err(self.expected("`]`")),
        }
    }

    /// Parses an id: JSON, or an unquoted word.
    fn id(&mut self) -> Result<String, PathError> {
        if self.rest.starts_with('"') {
            return Ok(self.json()?.to_string());
        }
        let word = self.until(|c| c == ']');
        if word.is_empty() {
            return Err(self.expected("an id"));
        }
        let number = serde_json::from_str(word).ok().filter(Value::is_number);
        Ok(number.unwrap_or_else(|| word.into()).to_string())
    }

    /// Parses a quoted text.
    fn json(&mut self) -> Result<Value, PathError> {
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter();
        match values.next() {
            Some(Ok(value)) => {
                self.rest = &self.rest[values.byte_offset()..];
                Ok(value)
            }
            _ => Err(self.expected("a closing quote")),
        }
    }

    fn word(&mut self) -> Result<String, PathError> {
        match self.until(|c| !is_word(c)) {
            "" => Err(self.expected("a key")),
            word => Ok(word.to_owned()),
        }
    }

    fn until(&mut self, end: impl Fn(char) -> bool) -> &'t str {
        let (taken, rest) = self.rest.split_at(self.rest.find(end).unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn take(&mut self, prefix: &str) -> bool {
        self.rest.strip_prefix(prefix).map(|rest| self.rest = rest).is_some()
    }

    fn expected(&self, expected: &'static str) -> PathError {
        let at = self.text.chars().count() - self.rest.chars().count();
        PathError { text: self.text.to_owned(), at, expected }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> Path {
        text.parse().unwrap()
    }

    #[test]
    fn a_path_leads_into_objects_and_lists() {
        let value = json!({"facts": [{"text": "a"}, {"text": "b"}], "a.b": {"": 1}, "notes": [{"id": 7, "x": 1}, {"id": "7"}]});
        let at = |text: &str| path(text).get(&value).cloned();
        assert_eq!(at("."), Some(value.clone()));
        assert_eq!(at("facts[1].text"), Some(json!("b")));
        assert_eq!(at("/facts/1/text"), Some(json!("b")));
        assert_eq!(at(r#"["a.b"][""]"#), Some(json!(1)));
        assert_eq!(at("/a.b/"), Some(json!(1)));
        assert_eq!(at("notes[id=7].x"), Some(json!(1)));
        assert_eq!(at(r#"notes[id="7"].x"#), None);
        assert_eq!(at("facts[2]"), None);
        assert_eq!(at("facts.text"), None);
        assert_eq!(at("nothing"), None);
    }

    #[test]
    fn what_is_no_path_is_said_with_the_place() {
        let error = |text: &str| text.parse::<Path>().unwrap_err().to_string();
        assert_eq!(error("a..b"), r#""a..b" is not a path: a key is expected at character 2"#);
        assert_eq!(
            error("a[x]"),
            r#""a[x]" is not a path: a position, "a key" or id=… is expected at character 2"#
        );
        assert_eq!(error("ä[1"), r#""ä[1" is not a path: `]` is expected at character 3"#);
        assert_eq!(error(r#"["a"#), r#""[\"a" is not a path: a closing quote is expected at character 1"#);
        assert_eq!(error("a]"), r#""a]" is not a path: `.` or `[` is expected at character 1"#);
        assert_eq!(error(""), r#""" is not a path: a key is expected at character 0"#);
    }

    fn segments() -> impl Strategy<Value = Segment> {
        prop_oneof![
            any::<String>().prop_map(Segment::Key),
            "[a-z]{1,4}".prop_map(Segment::Key),
            any::<usize>().prop_map(Segment::Index),
            any::<i64>().prop_map(|id| Segment::Item(id.to_string())),
            any::<String>().prop_map(|id| Segment::Item(Value::from(id).to_string())),
        ]
    }

    proptest! {
        #[test]
        fn a_path_reads_as_it_is_written(segments in proptest::collection::vec(segments(), 0..5)) {
            let path: Path = segments.into_iter().collect();
            prop_assert_eq!(path.to_string().parse::<Path>().unwrap(), path);
        }
    }
}
