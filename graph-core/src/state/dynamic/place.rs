//! A reader of descriptions, which tracks the path of each value and collects all mistakes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde_json::{Map, Value};

/// A mistake in a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The path of the mistake, as member names joined by dots.
    pub path: String,
    /// The problem.
    pub reason: String,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.reason),
            path => write!(f, "{path}: {}", self.reason),
        }
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(pub(crate) Vec<Found>);

impl Problems {
    pub(crate) fn add(&mut self, place: &Place<'_>, reason: impl Into<String>) {
        self.0.push(Found { path: place.path.clone(), reason: reason.into() });
    }
}

/// A value of a description, with its path.
#[derive(Clone, Debug)]
pub(crate) struct Place<'v> {
    pub(crate) path: String,
    pub(crate) value: &'v Value,
}

impl<'v> Place<'v> {
    pub(crate) fn root(value: &'v Value) -> Self {
        Self { path: String::new(), value }
    }

    fn below(&self, name: &str, value: &'v Value) -> Self {
        let path = if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) };
        Self { path, value }
    }

    /// Returns the members of an object, and reports those that are not in `names` as problems.
    pub(crate) fn known(&self, names: &[&str], problems: &mut Problems) -> Option<&'v Map<String, Value>> {
        let members = self.object(problems)?;
        for name in members.keys().filter(|name| !names.contains(&name.as_str())) {
            let at = self.below(name, self.value);
            let meant = suggestion(name, names.iter().copied());
            problems.add(&at, format!("no such member{meant} (there are {})", names.join(", ")));
        }
        Some(members)
    }

    pub(crate) fn object(&self, problems: &mut Problems) -> Option<&'v Map<String, Value>> {
        self.expect(self.value.as_object(), "an object", problems)
    }

    /// Returns the members of an object, each with its path.
    pub(crate) fn members(&self, problems: &mut Problems) -> Vec<(&'v str, Self)> {
        let members = self.object(problems).into_iter().flatten();
        members.map(|(name, value)| (name.as_str(), self.below(name, value))).collect()
    }

    /// Returns a member, if it exists.
    pub(crate) fn member(&self, name: &str) -> Option<Self> {
        self.value.get(name).map(|value| self.below(name, value))
    }

    /// Returns a required member, and reports a problem if it is missing.
    pub(crate) fn required(&self, name: &str, problems: &mut Problems) -> Option<Self> {
        let member = self.member(name);
        if member.is_none() && self.value.is_object() {
            problems.add(self, format!("the member {name:?} is missing"));
        }
        member
    }

    /// Returns the items of an array; any other value counts as a list of one item.
    pub(crate) fn items(&self) -> Vec<Self> {
        match self.value {
            Value::Array(items) => {
                let item = |(index, value)| self.below(&format!("{index}"), value);
                items.iter().enumerate().map(item).collect()
            }
            _ => alloc::vec![self.clone()],
        }
    }

    pub(crate) fn text(&self, problems: &mut Problems) -> Option<&'v str> {
        self.expect(self.value.as_str(), "a text", problems)
    }

    pub(crate) fn whole(&self, problems: &mut Problems) -> Option<u64> {
        self.expect(self.value.as_u64(), "a whole number", problems)
    }

    pub(crate) fn number(&self, problems: &mut Problems) -> Option<f64> {
        self.expect(self.value.as_f64(), "a number", problems)
    }

    pub(crate) fn truth(&self, problems: &mut Problems) -> Option<bool> {
        self.expect(self.value.as_bool(), "true or false", problems)
    }

    fn expect<T>(&self, value: Option<T>, expected: &str, problems: &mut Problems) -> Option<T> {
        if value.is_none() {
            problems.add(self, format!("expected {expected}, found {}", brief(self.value)));
        }
        value
    }
}

/// Returns a value for a message: its text, if that is short.
pub(crate) fn brief(value: &Value) -> String {
    let text = value.to_string();
    match value {
        Value::Array(items) if text.len() > 40 => format!("an array of {}", items.len()),
        Value::Object(members) if text.len() > 40 => format!("an object of {} members", members.len()),
        _ if text.chars().count() > 40 => text.chars().take(40).chain("…".chars()).collect(),
        _ => text,
    }
}

/// Returns `; did you mean "name"?` with the nearest of `names`, or an empty string if none is near.
pub(crate) fn suggestion<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let nearest = names.into_iter().map(|name| (distance(wrong, name), name)).min();
    match nearest {
        Some((far, name)) if far <= 1 + wrong.chars().count() / 3 => format!("; did you mean {name:?}?"),
        _ => String::new(),
    }
}

/// Returns the number of letters to add, remove, change, or swap with the next one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i);
        for j in 1..=b.len() {
            let changed = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                let swapped: &Vec<usize> = &before;
                best = best.min(swapped[j - 2] + 1);
            }
            row.push(best);
        }
        before = core::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let names = ["append", "any", "merge"];
        assert_eq!(suggestion("apend", names), "; did you mean \"append\"?");
        assert_eq!(suggestion("megre", names), "; did you mean \"merge\"?");
        assert_eq!(suggestion("concatenate", names), "");
        assert_eq!(suggestion("x", []), "");
    }
}
