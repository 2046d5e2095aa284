//! Searches of the store: by namespace, by values, and by words.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use serde::Serialize;
use serde_json::Value;

use super::backend::{AccessError, Entry};
use super::namespace::Namespace;
use crate::state::Json;

/// A search in the store. An entry must meet all of its conditions.
///
/// ```
/// # extern crate superstep_core as superstep;
/// use superstep::store::Search;
///
/// # fn main() -> Result<(), superstep::store::AccessError> {
/// let search = Search::under(&["users", "ada"])?.words("likes coffee").equal("kind", "note").limit(10);
/// # let _ = search;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Search {
    under: Namespace,
    words: Option<BTreeSet<String>>,
    conditions: Vec<Condition>,
    skip: usize,
    limit: Option<usize>,
}

#[derive(Clone, Debug)]
struct Condition {
    field: String,
    is: Is,
    value: Value,
}

#[derive(Clone, Copy, Debug)]
enum Is {
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Search {
    /// Finds all entries at a namespace and below; at `&[]`, all entries.
    ///
    /// # Errors
    /// Returns [`AccessError::Empty`] if a part of the namespace is empty.
    pub fn under(namespace: &[&str]) -> Result<Self, AccessError> {
        Ok(Self { under: Namespace::new(namespace)?, ..Self::default() })
    }

    /// Requires all words of `text` in an entry's texts, in any case and order. See [`words`] for the definition of
    /// a word. A `text` without words finds nothing.
    #[must_use]
    pub fn words(mut self, text: &str) -> Self {
        self.words.get_or_insert_default().extend(words(text));
        self
    }

    /// Requires a field that equals `value`. Numbers are equal if their values are, such as 1 and 1.0.
    ///
    /// `field` is the name of a member of an object, or a JSON pointer such as `/address/city`. A `value` without a
    /// JSON form equals nothing.
    #[must_use]
    pub fn equal<T: Serialize + ?Sized>(self, field: &str, value: &T) -> Self {
        self.condition(field, Is::Equal, value)
    }

    /// Requires that a field does not equal `value`, or is missing.
    #[must_use]
    pub fn not_equal<T: Serialize + ?Sized>(self, field: &str, value: &T) -> Self {
        self.condition(field, Is::NotEqual, value)
    }

    /// Requires a field that is less than `value`. Both must be numbers, or both texts.
    #[must_use]
    pub fn less<T: Serialize + ?Sized>(self, field: &str, value: &T) -> Self {
        self.condition(field, Is::Less, value)
    }

    /// Requires a field that is less than or equal to `value`.
    #[must_use]
    pub fn at_most<T: Serialize + ?Sized>(self, field: &str, value: &T) -> Self {
        self.condition(field, Is::AtMost, value)
    }

    /// Requires a field that is greater than `value`.
    #[must_use]
    pub fn more<T: Serialize + ?Sized>(self, field: &str, value: &T) -> Self {
        self.condition(field, Is::More, value)
    }

    /// Requires a field that is greater than or equal to `value`.
    #[must_use]
    pub fn at_least<T: Serialize + ?Sized>(self, field: &str, value: &T) -> Self {
        self.condition(field, Is::AtLeast, value)
    }

    /// Skips the first `entries` results.
    #[must_use]
    pub fn skip(self, entries: usize) -> Self {
        Self { skip: entries, ..self }
    }

    /// Finds at most `entries` entries.
    #[must_use]
    pub fn limit(self, entries: usize) -> Self {
        Self { limit: Some(entries), ..self }
    }

    fn condition<T: Serialize + ?Sized>(mut self, field: &str, is: Is, value: &T) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => self.conditions.push(Condition { field: field.to_owned(), is, value }),
            // A value without a JSON form is never stored, so no field equals it and every field differs from it.
            Err(_) if matches!(is, Is::NotEqual) => {}
            Err(_) => self.limit = Some(0),
        }
        self
    }

    /// Returns the namespace at and below which the search finds entries.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.under
    }

    /// Returns the words that an entry must contain; `None` if there is no such condition.
    #[must_use]
    pub fn wanted_words(&self) -> Option<&BTreeSet<String>> {
        self.words.as_ref()
    }

    /// Returns `true` if there are conditions on fields.
    #[must_use]
    pub fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Returns the number of results, from the first in order, that are enough for the requested part of them; `None` if all
    /// are needed.
    #[must_use]
    pub fn enough(&self) -> Option<usize> {
        self.limit.map(|limit| limit.saturating_add(self.skip))
    }

    /// Returns `true` if `entry` meets the conditions. All stores call it, so that their searches find the same
    /// entries.
    #[must_use]
    pub fn finds(&self, entry: &Entry) -> bool {
        if self.words.is_none() && self.conditions.is_empty() {
            return true;
        }
        // Stored values are JSON.
        let Ok(value) = entry.value.decode::<Value>() else {
            return false;
        };
        let has_words = self.words.as_ref().is_none_or(|wanted| {
            let has = words_of(&value);
            !wanted.is_empty() && wanted.iter().all(|word| has.contains(word))
        });
        has_words && self.conditions.iter().all(|condition| condition.holds(&value))
    }

    /// Returns the requested part of the results, which are given in order.
    #[must_use]
    pub fn page(&self, found: impl Iterator<Item = Entry>) -> Vec<Entry> {
        found.skip(self.skip).take(self.limit.unwrap_or(usize::MAX)).collect()
    }
}

impl Condition {
    fn holds(&self, value: &Value) -> bool {
        let field = match self.field.starts_with('/') {
            true => value.pointer(&self.field),
            false => value.get(&self.field),
        };
        let Some(field) = field else {
            return matches!(self.is, Is::NotEqual);
        };
        let order = compare(field, &self.value);
        match self.is {
            Is::Equal => equal(field, &self.value),
            Is::NotEqual => !equal(field, &self.value),
            Is::Less => order == Some(Ordering::Less),
            Is::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Is::More => order == Some(Ordering::Greater),
            Is::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

fn equal(one: &Value, other: &Value) -> bool {
    one == other || compare(one, other) == Some(Ordering::Equal)
}

/// Compares two numbers or two texts.
fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Number(one), Value::Number(other)) => match (one.as_i128(), other.as_i128()) {
            (Some(one), Some(other)) => Some(one.cmp(&other)),
            _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
        },
        _ => None,
    }
}

/// Returns the words of a text: runs of letters and digits, in lower case.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Returns the words of all texts in a stored value, in which [`Search::words`] searches. The names of members are
/// not included.
#[must_use]
pub fn words_in(value: &Json) -> BTreeSet<String> {
    // Stored values are JSON.
    value.decode::<Value>().map(|value| words_of(&value)).unwrap_or_default()
}

fn words_of(value: &Value) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut rest = alloc::vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::String(text) => all.extend(words(text)),
            Value::Array(items) => rest.extend(items),
            Value::Object(members) => rest.extend(members.values()),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn finds(search: &Search, value: &Value) -> bool {
        let value = Json::encode(value).expect("JSON");
        let (namespace, key) = (Namespace::default(), "key".to_owned());
        search.finds(&Entry { namespace, key, value, created_ms: 0, updated_ms: 0, expires_ms: None })
    }

    fn all() -> Search {
        Search::under(&[]).expect("the root is a namespace")
    }

    #[test]
    fn words_are_found_whatever_their_case_order_and_depth() {
        let value = json!({ "note": "She likes strong Coffee.", "tags": ["Öl", { "deep": "x1" }], "n": 7 });
        for text in ["coffee", "COFFEE likes", "öl", "x1 she", "strong, coffee!"] {
            assert!(finds(&all().words(text), &value), "{text}");
        }
        for text in ["coff", "tea", "coffee tea", "note", "7", "", "\"*()-"] {
            assert!(!finds(&all().words(text), &value), "{text}");
        }
    }

    #[test]
    fn conditions_compare_numbers_with_numbers_and_texts_with_texts() {
        let value = json!({ "n": 2, "word": "b", "none": null, "at": { "x": 1.5 } });
        let holds = |search: Search| finds(&search, &value);
        assert!(holds(all().equal("n", &2.0)) && holds(all().equal("none", &())));
        assert!(holds(all().less("n", &2.5)) && !holds(all().less("n", &2)) && holds(all().at_most("n", &2)));
        assert!(
            holds(all().more("word", "a"))
                && !holds(all().more("word", "b"))
                && !holds(all().more("word", &1))
        );
        assert!(holds(all().at_least("/at/x", &1.5)) && !holds(all().equal("/at/y", &1)));
        assert!(
            holds(all().not_equal("n", &3))
                && holds(all().not_equal("gone", &3))
                && !holds(all().not_equal("n", &2))
        );
        assert!(!holds(all().equal("n", &2).equal("word", "c")));
        assert!(!finds(&all().less("n", &u64::MAX), &json!({ "n": u64::MAX })));
        assert!(finds(&all().less("n", &u64::MAX), &json!({ "n": u64::MAX - 1 })), "not as floats");
    }
}
