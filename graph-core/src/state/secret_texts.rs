//! The texts of secret values, which are redacted wherever they occur.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};

use serde_json::Value;

use super::{CodecError, Json};

/// The texts in the values of secret fields, which are replaced by `<secret>` wherever they occur.
///
/// Numbers, and texts of fewer than [`SHORTEST`](Self::SHORTEST) letters, are not included, because they would match
/// everywhere.
///
/// ```
/// # extern crate superstep_core as superstep;
/// use superstep::state::{Json, SecretTexts};
///
/// let mut secrets = SecretTexts::default();
/// secrets.learn(&Json::encode(&["sesame-open", "abc"])?);
/// assert_eq!(secrets.hide_text("a plane via sesame-open, abc"), "a plane via <secret>, abc");
/// # Ok::<(), superstep::state::CodecError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SecretTexts(BTreeSet<String>);

impl SecretTexts {
    /// The text that replaces a secret.
    pub const HIDDEN: &str = "<secret>";

    /// The minimum number of letters of a text that is redacted everywhere.
    pub const SHORTEST: usize = 4;

    /// Adds the texts in a secret value.
    pub fn learn(&mut self, value: &Json) {
        // A value that is not JSON contains no texts.
        if let Ok(value) = value.decode() {
            self.learn_value(value);
        }
    }

    fn learn_value(&mut self, value: Value) {
        match value {
            // A text that is part of `<secret>` would match in its own replacement.
            Value::String(text)
                if text.chars().count() >= Self::SHORTEST && !Self::HIDDEN.contains(&text) =>
            {
                self.0.insert(text);
            }
            Value::Array(items) => items.into_iter().for_each(|item| self.learn_value(item)),
            Value::Object(members) => members.into_iter().for_each(|(_, member)| self.learn_value(member)),
            _ => {}
        }
    }

    /// Adds the texts of another set.
    pub fn learn_all(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    /// Returns `true` if there are no secret texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text without secrets. The longest are replaced first, because one may be part of another.
    #[must_use]
    pub fn hide_text(&self, text: &str) -> String {
        let mut secrets: alloc::vec::Vec<&String> =
            self.0.iter().filter(|secret| text.contains(secret.as_str())).collect();
        secrets.sort_by_key(|secret| core::cmp::Reverse(secret.len()));
        secrets.into_iter().fold(text.into(), |text: String, secret| text.replace(secret, Self::HIDDEN))
    }

    /// Returns the value without secrets in its texts and in the names of its members. A value without secrets is
    /// returned unchanged.
    ///
    /// # Errors
    /// Returns an error if the value is not JSON.
    pub fn hide(&self, value: &Json) -> Result<Json, CodecError> {
        // A letter of a secret may be written as an escape sequence.
        let text = value.as_str();
        let may_have_one = |secret: &String| {
            let quoted = Value::from(secret.as_str()).to_string();
            text.contains(&quoted[1..quoted.len() - 1])
        };
        if self.is_empty() || !(text.contains("\\u") || self.0.iter().any(may_have_one)) {
            return Ok(value.clone());
        }
        let mut hidden: Value = value.decode()?;
        self.hide_value(&mut hidden);
        Json::encode(&hidden)
    }

    /// Replaces secrets in the texts of a value and in the names of its members.
    pub fn hide_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.hide_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_value(item)),
            Value::Object(members) => {
                let hidden = core::mem::take(members).into_iter().map(|(name, mut member)| {
                    self.hide_value(&mut member);
                    (self.hide_text(&name), member)
                });
                *members = hidden.collect();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_hidden_wherever_they_are() {
        let mut secrets = SecretTexts::default();
        secrets.learn(
            &Json::encode(&json!({ "a": "sesame", "b": ["sesame-open", "a\"bc", 1234, "äb"] })).unwrap(),
        );
        let value = json!({ "x sesame": ["sesame-open!", 1234, "äb"], "y": "a\"bc" });
        let hidden = secrets.hide(&Json::encode(&value).unwrap()).unwrap();
        assert_eq!(hidden.as_str(), r#"{"x <secret>":["<secret>!",1234,"äb"],"y":"<secret>"}"#);
        let escaped = Json::parse(r#"["\u0073esame"]"#).unwrap();
        assert_eq!(secrets.hide(&escaped).unwrap().as_str(), r#"["<secret>"]"#);
        let other = Json::parse(r#"{"z": 1.0, "a": "ses"}"#).unwrap();
        assert!(secrets.hide(&other).unwrap().same_text(&other), "what has no secret stays as it is");
    }

    #[test]
    fn what_stands_in_the_place_of_a_secret_stays() {
        let mut secrets = SecretTexts::default();
        secrets.learn(&Json::encode(&["secret", "<secret>"]).unwrap());
        assert!(secrets.is_empty());
        assert_eq!(secrets.hide_text("<secret>"), "<secret>");
    }
}
