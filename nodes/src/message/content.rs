//! The content of messages.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Part;

/// The content of a message: a list of parts, most often one text.
///
/// In JSON, content that is exactly one text is a plain string; anything else is a list of parts. Both
/// forms are read.
///
/// ```
/// use superstep_nodes::message::{Content, Part};
///
/// let one: Content = serde_json::from_str(r#""hello""#).unwrap();
/// assert_eq!(one, Content::text("hello"));
/// let two = Content::from_iter([Part::text("hello, "), Part::text("world")]);
/// assert_eq!(serde_json::to_string(&two).unwrap(),
///     r#"[{"type":"text","text":"hello, "},{"type":"text","text":"world"}]"#);
/// assert_eq!(two.to_text(), "hello, world");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content(Vec<Part>);

impl Content {
    /// Makes content of no parts.
    pub const fn empty() -> Self {
        Self(Vec::new())
    }

    /// Makes content of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Part::text(text)])
    }

    /// Returns the parts in order.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Adds a part at the end.
    pub fn push(&mut self, part: Part) {
        self.0.push(part);
    }

    /// Returns all text, the parts joined with nothing between them.
    ///
    /// Borrows when there is only one text, which is the usual case.
    pub fn to_text(&self) -> Cow<'_, str> {
        let mut texts = self.0.iter().filter_map(Part::as_text);
        match (texts.next(), texts.next()) {
            (None, _) => Cow::Borrowed(""),
            (Some(only), None) => Cow::Borrowed(only),
            (Some(first), Some(second)) => {
                let mut all = format!("{first}{second}");
                all.extend(texts);
                Cow::Owned(all)
            }
        }
    }

    /// Tells whether there is nothing in it: no parts, or only empty texts.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|part| part.as_text().is_some_and(str::is_empty))
    }

    /// Tells whether there is nothing to read or see: no parts, or only [blank](Part::is_blank) ones. Providers
    /// refuse messages of that kind.
    pub fn is_blank(&self) -> bool {
        self.0.iter().all(Part::is_blank)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Part> for Content {
    fn from(part: Part) -> Self {
        Self(vec![part])
    }
}

impl FromIterator<Part> for Content {
    fn from_iter<I: IntoIterator<Item = Part>>(parts: I) -> Self {
        Self(parts.into_iter().collect())
    }
}

/// The two forms of content in JSON.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    One(String),
    Many(Vec<Part>),
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [Part::Text { text }] => serializer.serialize_str(text),
            parts => parts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            Form::One(text) => Self::text(text),
            Form::Many(parts) => Self(parts),
        })
    }
}

impl JsonSchema for Content {
    fn schema_name() -> Cow<'static, str> {
        "Content".into()
    }

    fn schema_id() -> Cow<'static, str> {
        concat!(module_path!(), "::Content").into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let parts = generator.subschema_for::<Vec<Part>>();
        json_schema!({
            "description": "The content of a message: one text, or a list of parts.",
            "anyOf": [{ "type": "string" }, parts],
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_content_survives_json(texts in prop::collection::vec(".*", 0..4)) {
            let content: Content = texts.into_iter().map(Part::text).collect();
            let json = serde_json::to_string(&content).unwrap();
            prop_assert_eq!(serde_json::from_str::<Content>(&json).unwrap(), content);
        }

        #[test]
        fn text_is_the_concatenation_of_the_parts(texts in prop::collection::vec(".*", 0..4)) {
            let content: Content = texts.iter().map(Part::text).collect();
            prop_assert_eq!(content.to_text(), texts.concat());
        }
    }

    #[test]
    fn one_text_in_list_form_reads_as_the_same_content() {
        let list: Content = serde_json::from_str(r#"[{"type":"text","text":"hi"}]"#).unwrap();
        assert_eq!(list, Content::text("hi"));
    }

    #[test]
    fn an_unknown_part_is_an_error() {
        assert!(serde_json::from_str::<Content>(r#"[{"type":"smell","text":"hi"}]"#).is_err());
    }

    #[test]
    fn empty_means_nothing_to_read() {
        assert!(Content::empty().is_empty());
        assert!(Content::text("").is_empty());
        assert!(!Content::text(" ").is_empty());
    }
}
