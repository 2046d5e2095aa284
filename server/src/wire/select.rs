//! The members of a response that a client asked for.

use serde_json::{Map, Value};

use super::Failure;
use super::members::Members;

/// Returns only the selected members of an object; all of them without a selection.
pub(crate) fn select(value: Value, names: Option<&[String]>) -> Value {
    match (value, names) {
        (Value::Object(members), Some(names)) => {
            members.into_iter().filter(|(name, _)| names.contains(name)).collect::<Map<_, _>>().into()
        }
        (value, _) => value,
    }
}

/// Values to take out of each thread of a list, by the name that the client gave them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extract(Vec<(String, Vec<Step>)>);

/// A step of a path such as `values.messages[-1].content`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    /// A position in a list; a negative one counts from the end.
    Item(i64),
}

impl Extract {
    /// Reads the member `extract`.
    pub(super) fn read(members: &Members<'_>) -> Result<Self, Failure> {
        let Some(paths) = members.object("extract")? else { return Ok(Self::default()) };
        let read = paths.iter().map(|(alias, path)| {
            let steps = path.as_str().and_then(steps);
            let wrong = || {
                members.invalid("extract", &format!("{path} is not a path such as \"values.messages[-1]\""))
            };
            Ok((alias.clone(), steps.ok_or_else(wrong)?))
        });
        read.collect::<Result<_, _>>().map(Self)
    }

    /// Returns `true` if nothing is to be taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the values; `null` for those that do not exist.
    pub(crate) fn of(&self, thread: &Value) -> Value {
        let found = self.0.iter().map(|(alias, steps)| {
            let value = steps.iter().try_fold(thread, |value, step| step.in_value(value));
            (alias.clone(), value.cloned().unwrap_or(Value::Null))
        });
        found.collect::<Map<_, _>>().into()
    }
}

impl Step {
    fn in_value<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Member(name) => value.get(name),
            Self::Item(index) => {
                let items = value.as_array()?;
                let length = i64::try_from(items.len()).ok()?;
                let index = if *index < 0 { length.checked_add(*index)? } else { *index };
                items.get(usize::try_from(index).ok()?)
            }
        }
    }
}

fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (name, indices) = part.split_once('[').map_or((part, None), |(name, rest)| (name, Some(rest)));
        if name.is_empty() {
            return None;
        }
        steps.push(Step::Member(name.to_owned()));
        for index in indices.into_iter().flat_map(|rest| rest.split('[')) {
            steps.push(Step::Item(index.strip_suffix(']')?.parse().ok()?));
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_taken_out_by_path() {
        let body = json!({ "extract": { "last": "values.messages[-1].content", "first": "values.log[0]", "none": "values.x.y" } });
        let extract = Extract::read(&Members::of(&body).unwrap()).unwrap();
        let thread =
            json!({ "values": { "messages": [{ "content": "a" }, { "content": "b" }], "log": ["plan"] } });
        assert_eq!(extract.of(&thread), json!({ "last": "b", "first": "plan", "none": null }));
        for path in ["", "a..b", "a[x]", "a[0", "a[0]b"] {
            let body = json!({ "extract": { "x": path } });
            assert_eq!(Extract::read(&Members::of(&body).unwrap()).unwrap_err().status, 422, "{path}");
        }
    }

    #[test]
    fn a_selection_keeps_its_members_only() {
        let value = json!({ "run_id": 1, "status": 2 });
        assert_eq!(select(value.clone(), Some(&["status".into(), "x".into()])), json!({ "status": 2 }));
        assert_eq!(select(value.clone(), None), value);
    }
}
