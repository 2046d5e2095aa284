//! Entry points of the fuzzer: parses any text with the parsers of the command line.
//!
//! Only compiled for the fuzzer, `cfg(fuzzing)`, and for this crate's tests.

use serde_json::Value;

use superstep_core::state::Json;
use superstep_inspect::{Path, Segment};

use super::assignment::Assignment;
use super::predicate::Predicate;
use super::source::Address;

/// Parses a text as every kind of command-line argument.
///
/// # Panics
/// If an invariant is violated.
pub fn argument(text: &str, value: &Value) {
    let parsed = Address::parse(text);
    let (Address::Back(of, _) | Address::Step(of, _) | Address::Named(of, _) | Address::Name(of)) = &parsed;
    assert!(text.starts_with(of), "{text:?}: {of:?}");
    if let Address::Named(of, name) = &parsed {
        assert_eq!(format!("{of}@{name}"), text);
    }
    path(text, value);
    if let Ok(predicate) = text.parse::<Predicate>() {
        let (there, missing) = (predicate.holds(Some(value)), predicate.holds(None));
        if let Predicate::Exists | Predicate::Missing = predicate {
            assert_ne!(there, missing);
        }
    }
    if let Ok(assignment) = Assignment::parse(text) {
        assert!(!assignment.field().is_empty() || text.starts_with(['/', '[', '=']), "{text:?}");
        let _what = assignment.value(false);
        if let Err(failure) = assignment.value(true) {
            assert!(failure.text.contains("is not JSON"), "{}", failure.text);
        }
    }
}

/// A displayed path parses to the same path, and a value inserted at a path is found there.
fn path(text: &str, value: &Value) {
    let Ok(path) = text.parse::<Path>() else { return };
    let shown = path.to_string();
    assert_eq!(shown.parse().as_ref(), Ok(&path), "{text:?} is shown as {shown:?}");
    assert!(path.is_within(&Path::root()));
    // Replacing an item changes its id, so its path no longer finds it.
    let by_id = |segment: &Segment| matches!(segment, Segment::Item(_));
    if path.segments().iter().any(by_id) {
        return;
    }
    let new = Json::encode("new").expect("a text is JSON");
    let whole = Json::encode(value).expect("a value is JSON");
    if let Ok(changed) = path.insert(&whole, &new) {
        let changed: Value = changed.decode().expect("what was put together is JSON");
        assert_eq!(path.get(&changed), Some(&Value::from("new")), "{shown}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_people_write_is_read() {
        let value = json!({"a": [{"id": "x", "b": 1}], "a b": 2});
        let texts = ["t~2", "a[0].b", "a[id=\"x\"].b=3", "[\"a b\"]", "/a/0/b", "!= 3", "~ ^p", ".", "=", ""];
        texts.iter().for_each(|text| argument(text, &value));
    }
}
