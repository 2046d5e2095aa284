//! The differences between a state and the one that a test expects.

use std::format;
use std::string::String;
use std::vec::Vec;

use serde_json::Value;

/// The maximum number of differences that are listed.
const TOLD: usize = 10;

/// Lists the differences between `found` and the expected value, each with its path.
pub(super) fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut all = Vec::new();
    gather("", Some(expected), Some(found), &mut all);
    if all.len() > TOLD {
        let more = all.len() - TOLD;
        all.truncate(TOLD);
        all.push(format!("and {more} more"));
    }
    all
}

fn gather(path: &str, expected: Option<&Value>, found: Option<&Value>, into: &mut Vec<String>) {
    match (expected, found) {
        (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
            let added = theirs.keys().filter(|name| !ours.contains_key(*name));
            for name in ours.keys().chain(added) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                gather(&path, ours.get(name), theirs.get(name), into);
            }
        }
        (Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
            for index in 0..ours.len().max(theirs.len()) {
                gather(&format!("{path}[{index}]"), ours.get(index), theirs.get(index), into);
            }
        }
        (expected, found) if expected == found => {}
        (expected, found) => {
            let shown =
                |value: Option<&Value>| value.map_or_else(|| "nothing".into(), |value| format!("{value}"));
            into.push(format!("{path}: expected {}, and it is {}", shown(expected), shown(found)));
        }
    }
}
