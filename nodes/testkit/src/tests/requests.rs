//! Requests that are right but for one change.

use crate::HttpError;
use serde_json::Value;

/// A change: a place, as a JSON pointer, and what is put there; nothing takes out what is there.
pub(crate) type Change = (&'static str, Option<Value>);

/// A request with a change.
pub(crate) fn changed(request: &Value, (pointer, value): Change) -> Value {
    let mut request = request.clone();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer begins with a slash");
    let parent = request.pointer_mut(parent).unwrap_or_else(|| panic!("there is no {parent}"));
    match (parent, value) {
        (Value::Object(members), Some(value)) => {
            members.insert(key.to_owned(), value);
        }
        (Value::Object(members), None) => {
            members.remove(key).unwrap_or_else(|| panic!("there is no {pointer}"));
        }
        (Value::Array(items), Some(value)) if key == "-" => items.push(value),
        (Value::Array(items), Some(value)) => items[index(key)] = value,
        (Value::Array(items), None) => {
            items.remove(index(key));
        }
        (other, _) => panic!("{other} has no members"),
    }
    request
}

fn index(key: &str) -> usize {
    key.parse().expect("an item of an array has a number")
}

/// Checks that each change of a request that is taken gets its error.
pub(crate) fn each_is_refused(
    check: fn(&Value) -> Result<(), HttpError>,
    request: &Value,
    changes: impl IntoIterator<Item = (Change, &'static str)>,
) {
    check(request).unwrap_or_else(|error| panic!("not taken as it is: {error}"));
    for (change, said) in changes {
        let error = check(&changed(request, change.clone())).err();
        let error = error.unwrap_or_else(|| panic!("taken after {change:?}"));
        assert_eq!((error.status(), error.kind()), (400, "invalid_request_error"), "{change:?}");
        assert!(error.message().starts_with(said), "{change:?}\n  is told {error}\n  and not {said}");
    }
}

/// Checks that each change of a request leaves it one that is taken.
pub(crate) fn each_is_taken(
    check: fn(&Value) -> Result<(), HttpError>,
    request: &Value,
    changes: impl IntoIterator<Item = Change>,
) {
    for change in changes {
        let taken = check(&changed(request, change.clone()));
        assert_eq!(taken, Ok(()), "{change:?}");
    }
}
