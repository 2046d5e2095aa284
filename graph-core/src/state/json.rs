//! JSON text: the one form in which values leave the program.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::mismatch::Mismatch;

/// A value encoded as JSON text.
///
/// Cheap to clone: a checkpoint's version and the task that wrote it share one text. A `Json` always holds
/// one complete, syntactically valid JSON value.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Json(Arc<str>);

impl Json {
    /// Encodes `value`.
    ///
    /// # Errors
    /// When `value` has no JSON form: a map whose keys are not strings, a NaN, an infinity.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, CodecError> {
        match serde_json::to_string(value) {
            Ok(text) => {
                // A NaN is written as `null`: only a text that has one can hide it.
                if text.contains("null") {
                    super::finite::check(value)?;
                }
                Ok(Self(text.into()))
            }
            Err(error) => Err(CodecError::new(error.to_string())),
        }
    }

    /// Decodes the text as a `T`.
    ///
    /// # Errors
    /// When the text is not the JSON form of a `T`; the error says what was found where.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, CodecError> {
        serde_json::from_str(&self.0).map_err(|error| CodecError {
            message: error.to_string(),
            mismatch: Some(Box::new(Mismatch::of(&self.0, &error))),
        })
    }

    /// Takes `text` as JSON after checking that it is one complete value.
    ///
    /// # Errors
    /// When `text` is not valid JSON.
    pub fn parse(text: impl Into<String>) -> Result<Self, CodecError> {
        let text = text.into();
        match serde_json::from_str::<&RawValue>(&text) {
            Ok(value) if value.get().len() == text.len() => Ok(Self(text.into())),
            Ok(value) => Ok(Self(value.get().into())),
            Err(error) => Err(CodecError::new(error.to_string())),
        }
    }

    /// The JSON `null`.
    #[must_use]
    pub fn null() -> Self {
        Self("null".into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether both share one text in memory, which makes them equal without a comparison.
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
        let raw = alloc::boxed::Box::<RawValue>::deserialize(deserializer).map_err(D::Error::custom)?;
        Ok(Self(raw.get().into()))
    }
}

/// Why a value could not be encoded or decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CodecError {
    message: String,
    mismatch: Option<Box<Mismatch>>,
}

impl CodecError {
    /// An error that reads after "failed to decode the value: …".
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), mismatch: None }
    }

    /// What does not fit, and where, of a value that was read from JSON.
    #[must_use]
    pub fn mismatch(&self) -> Option<&Mismatch> {
        self.mismatch.as_deref()
    }

    /// The same error of a value that nobody may see.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mismatch = self.mismatch.as_ref().map(|mismatch| Box::new(mismatch.redacted()));
        Self { message: "the value does not fit".into(), mismatch }
    }

    /// What reads after "field x does not decode": the mismatch where it is known, else the message.
    pub(crate) fn told(&self) -> String {
        match &self.mismatch {
            Some(mismatch) => mismatch.to_string(),
            None => alloc::format!(": {}", self.message),
        }
    }

    /// The same error, said of the part named `place`.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        Self { message: alloc::format!("{place}: {}", self.message), ..self }
    }
}
