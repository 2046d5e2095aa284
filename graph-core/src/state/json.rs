//! JSON text, the form in which values are stored and leave the program.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;

use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::limits::{self, Excess, SizeLimits};
use super::mismatch::Mismatch;
use crate::caught::caught;

/// A value encoded as JSON text.
///
/// It is cheap to clone: the version of a field and the task that wrote it share one text. A `Json` always contains
/// one complete, syntactically valid JSON value, nested no deeper than [`SizeLimits::DEPTH`].
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Json(Arc<Box<str>>);

impl Json {
    /// Encodes `value`.
    ///
    /// # Errors
    /// Returns an error if `value` has no JSON form (a map whose keys are not strings, a NaN, an infinity), if it
    /// is nested more deeply than [`SizeLimits::WRITTEN_DEPTH`], or if its `Serialize` code panics.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, CodecError> {
        let encoded = caught(|| Self::put_together(value));
        let encoded = encoded.unwrap_or_else(|panic| Err(CodecError::panicked(&panic)))?;
        limits::depth(&encoded.0, SizeLimits::WRITTEN_DEPTH)?;
        Ok(encoded)
    }

    /// Encodes a value whose parts are already JSON.
    pub(crate) fn put_together<T: Serialize + ?Sized>(value: &T) -> Result<Self, CodecError> {
        match serde_json::to_string(value) {
            Ok(text) => {
                // A NaN is written as `null`, so only a text with `null` can contain one.
                if text.contains("null") {
                    super::finite::check(value)?;
                }
                Ok(Self::of(text))
            }
            Err(error) => Err(CodecError::new(error.to_string())),
        }
    }

    /// Wraps a text that is known to be JSON. The text is not copied.
    fn of(text: impl Into<Box<str>>) -> Self {
        Self(Arc::new(text.into()))
    }

    /// Decodes the text as a `T`.
    ///
    /// # Errors
    /// Returns an error if the text is not the JSON form of a `T`; it names the place and the value found there.
    /// Also returns an error if the `Deserialize` code of `T` panics.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, CodecError> {
        match caught(|| serde_json::from_str(&self.0)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(CodecError {
                message: error.to_string(),
                mismatch: Some(Box::new(Mismatch::of(&self.0, &error))),
                excess: None,
            }),
            Err(panic) => Err(CodecError::panicked(&panic)),
        }
    }

    /// Wraps `text` after checking that it is one complete JSON value within the [`SizeLimits`].
    ///
    /// # Errors
    /// Returns an error if `text` is not valid JSON or exceeds the limits.
    pub fn parse(text: impl Into<String>) -> Result<Self, CodecError> {
        Self::parse_within(text, SizeLimits::default())
    }

    /// Works like [`parse`](Self::parse), with other limits.
    ///
    /// # Errors
    /// Returns an error if `text` is not valid JSON or exceeds the limits.
    pub fn parse_within(text: impl Into<String>, limits: SizeLimits) -> Result<Self, CodecError> {
        let text = text.into();
        limits.check(&text)?;
        match serde_json::from_str::<&RawValue>(&text) {
            Ok(value) if value.get().len() == text.len() => Ok(Self::of(text)),
            Ok(value) => Ok(Self::of(value.get())),
            Err(error) => Err(CodecError::new(error.to_string())),
        }
    }

    /// Completes the text of an array that lacks the closing bracket.
    pub(crate) fn closed(mut array: String) -> Self {
        array.push(']');
        Self::of(array)
    }

    /// Returns the JSON `null`.
    #[must_use]
    pub fn null() -> Self {
        Self::of("null")
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `true` if both share one text in memory, which makes them equal without a comparison.
    #[must_use]
    pub fn same_text(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW, Text)
    }
}

/// The name with which `serde_json` is asked for the unparsed text of a value. serde's buffers for tagged enums and
/// flattened members do not know the name, and return the value.
const RAW: &str = "$serde_json::private::RawValue";

struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut raw: A) -> Result<Json, A::Error> {
        match raw.next_entry::<IgnoredAny, String>()? {
            Some((_, text)) => {
                limits::depth(&text, SizeLimits::DEPTH).map_err(A::Error::custom)?;
                Ok(Json::of(text))
            }
            None => Err(A::Error::custom("the text of a value is missing")),
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<Json, D::Error> {
        Json::encode(&Value::deserialize(value)?).map_err(D::Error::custom)
    }
}

/// The error of encoding or decoding a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CodecError {
    message: String,
    mismatch: Option<Box<Mismatch>>,
    excess: Option<Excess>,
}

impl From<Excess> for CodecError {
    fn from(excess: Excess) -> Self {
        Self { message: alloc::format!("it has {excess}"), mismatch: None, excess: Some(excess) }
    }
}

impl CodecError {
    /// Creates an error that reads after "failed to decode the value: …".
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), mismatch: None, excess: None }
    }

    fn panicked(panic: &str) -> Self {
        Self::new(alloc::format!("its code panicked: {panic}"))
    }

    /// Returns the part of a value read from JSON that does not fit its type, with its place.
    #[must_use]
    pub fn mismatch(&self) -> Option<&Mismatch> {
        self.mismatch.as_deref()
    }

    /// Returns the limit that the value exceeds, if that is the cause of the error.
    #[must_use]
    pub fn excess(&self) -> Option<Excess> {
        self.excess
    }

    /// Returns the same error without the value, for a value that is secret.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mismatch = self.mismatch.as_ref().map(|mismatch| Box::new(mismatch.redacted()));
        Self { message: "the value does not fit".into(), mismatch, excess: self.excess }
    }

    /// Returns the text that follows "field x does not decode": the mismatch if it is known, otherwise the message.
    pub(crate) fn told(&self) -> String {
        match &self.mismatch {
            Some(mismatch) => mismatch.to_string(),
            None => alloc::format!(": {}", self.message),
        }
    }

    /// Returns the same error with the name of the part, `place`, in front.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        Self { message: alloc::format!("{place}: {}", self.message), ..self }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flat {
        #[serde(flatten)]
        kind: Kind,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Kind {
        Some { value: Json, more: Vec<Json> },
    }

    #[test]
    fn a_value_is_read_wherever_it_stands() {
        let text = "[1.50, {\"b\": null,  \"a\": [true]}]";
        let json: Json = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(json.as_str(), text, "as it is written");
        // For a tagged enum, serde buffers the value before it is decoded.
        let value = Json::parse("[1.5,{\"a\":[true],\"b\":null}]").expect("it is JSON");
        let flat = Flat { kind: Kind::Some { value: value.clone(), more: vec![value, Json::null()] } };
        let read: Flat =
            serde_json::from_str(&serde_json::to_string(&flat).expect("JSON")).expect("its own form");
        assert_eq!(read, flat);
        let value = serde_json::to_value(&flat).expect("JSON");
        assert_eq!(serde_json::from_value::<Flat>(value).expect("its own form"), flat);
    }
}
