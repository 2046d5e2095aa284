//! The first difference between two checkpoints.

use std::format;
use std::string::String;
use std::vec::Vec;

use serde::Serialize;
use serde_json::Value;

use super::report::Difference;
use crate::checkpoint::{Checkpoint, TaskRecord};
use crate::run::runtime::redact;
use crate::state::{CodecError, FieldId, Json, Schema};

/// Returns the first difference between `replayed` and `recorded`, and the position of its task; `None` if they are
/// equal byte for byte.
pub(super) fn difference(
    recorded: &Checkpoint,
    replayed: &Checkpoint,
    schema: &Schema,
) -> Result<Option<(Option<u32>, Difference)>, CodecError> {
    let (texts, others) = (Json::encode(recorded)?, Json::encode(replayed)?);
    if texts.as_str() == others.as_str() {
        return Ok(None);
    }
    // Differences in a task's own record name its node; differences that follow from them do not.
    for (position, (ours, theirs)) in (0u32..).zip(recorded.tasks.iter().zip(&replayed.tasks)) {
        if let Some(found) = of_task(position, ours, theirs, schema)? {
            return Ok(Some((Some(position), found)));
        }
    }
    let ours: Vec<FieldId> = recorded.changes.iter().map(|change| change.field).collect();
    let found = first(String::new(), &value(recorded)?, &value(replayed)?)?;
    let found = found.unwrap_or_else(|| Found { path: ".".into(), values: (Some(texts), Some(others)) });
    let field = index_after(&found.path, "changes").and_then(|at| ours.get(at));
    Ok(Some((None, found.difference(field, schema))))
}

/// Returns the difference in the outcome of one task.
pub(super) fn of_task(
    position: u32,
    recorded: &TaskRecord,
    replayed: &TaskRecord,
    schema: &Schema,
) -> Result<Option<Difference>, CodecError> {
    if recorded == replayed {
        return Ok(None);
    }
    let at = format!("tasks[{position}]");
    let found = first(at.clone(), &value(recorded)?, &value(replayed)?)?;
    Ok(found.map(|found| {
        let write = index_after(&found.path, &format!("{at}.writes"));
        let writes = if recorded.writes.is_empty() { &replayed.writes } else { &recorded.writes };
        let field = write.and_then(|at| writes.get(at)).map(|write| write.field);
        found.difference(field.as_ref(), schema)
    }))
}

struct Found {
    path: String,
    values: (Option<Json>, Option<Json>),
}

impl Found {
    fn difference(self, field: Option<&FieldId>, schema: &Schema) -> Difference {
        let Self { path, values: (recorded, replayed) } = self;
        let is_secret = |field: FieldId| schema.field(field).secret;
        let hides = match field {
            Some(field) => is_secret(*field),
            // An input, or the checkpoint as a whole, may contain values of any field.
            None => (path == "." || path.contains(".input")) && schema.ids().any(is_secret),
        };
        let shown = |value: Option<Json>| if hides { value.map(|_| redact::hidden()) } else { value };
        let (recorded, replayed) = (shown(recorded), shown(replayed));
        let field = field.map(|field| schema.field(*field).name.clone());
        Difference::Value { path, field, recorded, replayed }
    }
}

fn value<T: Serialize>(of: &T) -> Result<Value, CodecError> {
    Json::encode(of)?.decode()
}

/// Finds the place of the first difference, in the order of the recorded value.
fn first(path: String, recorded: &Value, replayed: &Value) -> Result<Option<Found>, CodecError> {
    let at = |path: String, ours: Option<&Value>, theirs: Option<&Value>| {
        let values = (ours.map(Json::encode).transpose()?, theirs.map(Json::encode).transpose()?);
        Ok(Some(Found { path: path.trim_start_matches('.').into(), values }))
    };
    match (recorded, replayed) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (key, ours) in ours {
                let path = format!("{path}{}", member(key));
                let Some(theirs) = theirs.get(key) else { return at(path, Some(ours), None) };
                if let Some(found) = first(path, ours, theirs)? {
                    return Ok(Some(found));
                }
            }
            match theirs.iter().find(|(key, _)| !ours.contains_key(*key)) {
                Some((key, theirs)) => at(format!("{path}{}", member(key)), None, Some(theirs)),
                None => Ok(None),
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            for index in 0..ours.len().max(theirs.len()) {
                let path = format!("{path}[{index}]");
                let (ours, theirs) = (ours.get(index), theirs.get(index));
                let (Some(one), Some(other)) = (ours, theirs) else { return at(path, ours, theirs) };
                if let Some(found) = first(path, one, other)? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        }
        (ours, theirs) if ours == theirs => Ok(None),
        (ours, theirs) => at(path, Some(ours), Some(theirs)),
    }
}

fn member(key: &str) -> String {
    let is_plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_plain { format!(".{key}") } else { format!("[{key:?}]") }
}

/// Returns the index that directly follows `prefix` in a path.
fn index_after(path: &str, prefix: &str) -> Option<usize> {
    let (index, _) = path.strip_prefix(prefix)?.strip_prefix('[')?.split_once(']')?;
    index.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(recorded: &Value, replayed: &Value) -> Option<(String, Option<String>, Option<String>)> {
        let found = first(String::new(), recorded, replayed).unwrap()?;
        let text = |json: Option<Json>| json.map(|json| json.as_str().into());
        Some((found.path, text(found.values.0), text(found.values.1)))
    }

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let recorded = json!({"a": [1, {"b c": 2}], "d": null});
        assert_eq!(found(&recorded, &recorded), None);
        let value = |text: &str| Some(String::from(text));
        let replayed = json!({"a": [1, {"b c": 3}]});
        assert_eq!(found(&recorded, &replayed), Some(("a[1][\"b c\"]".into(), value("2"), value("3"))));
        let replayed = json!({"a": [1], "d": null});
        assert_eq!(found(&recorded, &replayed), Some(("a[1]".into(), value("{\"b c\":2}"), None)));
        let replayed = json!({"a": [1, {"b c": 2}], "d": null, "e": 4});
        assert_eq!(found(&recorded, &replayed), Some(("e".into(), None, value("4"))));
        assert_eq!(found(&json!(1), &json!("x")), Some((String::new(), value("1"), value("\"x\""))));
    }
}
