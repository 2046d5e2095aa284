//! Computes the states of a thread one after the other, each from the one before.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use superstep_core::checkpoint::StepRecord;
use superstep_core::state::{CodecError, FieldId, Op, Schema};

use super::diff::{Difference, Edit, apply, diff};
use super::path::{Path, Segment, text_of};

/// A walk along a branch, from its first checkpoint on, with the state at each. Every operation is decoded only once.
#[derive(Debug)]
pub struct Walk {
    state: Value,
    /// The schema whose field names are used.
    schema: Arc<Schema>,
    /// The schema of the last step, and the names of its fields under `schema`.
    names: Option<(Arc<Schema>, Vec<String>)>,
}

/// The changes that one operation made.
#[derive(Debug)]
pub struct Written<'s> {
    /// The field, in the schema of the step.
    pub field: FieldId,
    /// The operation.
    pub op: &'s Op,
    /// The changes to the state before, in an order in which they can be applied.
    pub differences: Vec<Difference>,
}

impl Written<'_> {
    /// Returns `true` if it is the same operation on the same field.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.field == other.field && self.op == other.op
    }
}

impl Walk {
    /// Creates a walk that has not begun. Fields have their names in `schema`, usually that of the newest step; fields
    /// that `schema` does not have keep their original names.
    #[must_use]
    pub fn under(schema: Arc<Schema>) -> Self {
        Self { state: Value::Object(Map::new()), schema, names: None }
    }

    /// Returns the state at the last step: an object with the names and values of the fields that were written.
    #[must_use]
    pub fn state(&self) -> &Value {
        &self.state
    }

    /// Applies the next step; returns the changes of its operations, in order.
    ///
    /// # Errors
    /// Returns an error if a stored operation does not fit the value to which it is applied.
    pub fn step<'s>(&mut self, step: &'s StepRecord) -> Result<Vec<Written<'s>>, CodecError> {
        let names = names(&self.schema, &step.schema, self.names.take());
        let mut written = Vec::new();
        for change in &step.checkpoint.changes {
            let name = &names[change.field.index()];
            let field = Path::from_iter([Segment::Key(name.clone())]);
            for op in &change.ops {
                let within = |error: CodecError| error.within(format_args!("field {name}"));
                let before = self.state.get(name);
                let differences = effect(before, op).map_err(within)?;
                let differences: Vec<Difference> =
                    differences.into_iter().map(|difference| difference.below(&field)).collect();
                apply(&mut self.state, &differences)
                    .map_err(|error| within(CodecError::new(error.to_string())))?;
                written.push(Written { field: change.field, op, differences });
            }
        }
        self.names = Some((Arc::clone(&step.schema), names));
        Ok(written)
    }
}

/// Returns the names that the fields of a step's schema have under `schema`; `last` is that of the step before.
fn names(schema: &Schema, step: &Arc<Schema>, last: Option<(Arc<Schema>, Vec<String>)>) -> Vec<String> {
    match last {
        Some((last, names)) if last == *step => names,
        _ => {
            let now = schema.carried_from(step).into_iter().zip(&step.fields);
            now.map(|(now, own)| now.map_or(&own.name, |now| &schema.field(now).name).clone()).collect()
        }
    }
}

/// Returns the differences that an operation makes in a value, which is `None` while nothing was written.
fn effect(before: Option<&Value>, op: &Op) -> Result<Vec<Difference>, CodecError> {
    let root = Path::root();
    let index = |at: usize| root.then(Segment::Index(at));
    let key = |key: &str| root.then(Segment::Key(key.to_owned()));
    let added =
        |path: Path, value: Value, at: Option<usize>| Difference { path, edit: Edit::Added { value, at } };
    let removed =
        |path: Path, value: &Value| Difference { path, edit: Edit::Removed { value: value.clone() } };
    let Some(before) = before else {
        let (list, map) = (Value::Array(Vec::new()), Value::Object(Map::new()));
        let value = match op {
            Op::Set(value) => value.decode()?,
            Op::MapPut(_) | Op::MapRemove(_) => applied(map, op)?,
            _ => applied(list, op)?,
        };
        return Ok(vec![added(root, value, None)]);
    };
    let mut differences = Vec::new();
    match op {
        Op::Set(value) => return Ok(diff(before, &value.decode()?)),
        Op::Extend(items) => {
            let end = list(before)?.len();
            let items = items.decode::<Vec<Value>>()?.into_iter().zip(end..);
            differences.extend(items.map(|(item, at)| added(index(at), item, Some(at))));
        }
        Op::SetAdd(items) => {
            let held = list(before)?;
            let mut texts: HashSet<String> = held.iter().map(Value::to_string).collect();
            let items =
                items.decode::<Vec<Value>>()?.into_iter().filter(|item| texts.insert(item.to_string()));
            differences.extend(items.zip(held.len()..).map(|(item, at)| added(index(at), item, Some(at))));
        }
        Op::SetRemove(items) => {
            let gone: Vec<Value> = items.decode()?;
            let held = list(before)?.iter().enumerate().filter(|(_, item)| gone.contains(item));
            differences.extend(held.rev().map(|(at, item)| removed(index(at), item)));
        }
        Op::MapPut(entries) => {
            let held = map(before)?;
            for (name, new) in entries.decode::<BTreeMap<String, Value>>()? {
                match held.get(&name) {
                    None => differences.push(added(key(&name), new, None)),
                    Some(old) => {
                        differences.extend(diff(old, &new).into_iter().map(|inner| inner.below(&key(&name))))
                    }
                }
            }
        }
        Op::MapRemove(keys) => {
            let held = map(before)?;
            let gone: BTreeMap<String, Value> = keys.decode()?;
            let gone = gone.keys().filter_map(|name| Some(removed(key(name), held.get(name)?)));
            differences.extend(gone);
        }
        Op::Keyed(rows) => {
            let mut now = list(before)?.clone();
            rows.decode::<Vec<Row>>()?.into_iter().for_each(|row| row.put(&mut now));
            return Ok(diff(before, &Value::Array(now)));
        }
        _ => return Err(CodecError::new(format!("the operation {:?} is of a newer version", op.name()))),
    }
    Ok(differences)
}

fn applied(mut value: Value, op: &Op) -> Result<Value, CodecError> {
    let differences = effect(Some(&value), op)?;
    apply(&mut value, &differences).map_err(|error| CodecError::new(error.to_string()))?;
    Ok(value)
}

fn list(value: &Value) -> Result<&Vec<Value>, CodecError> {
    value.as_array().ok_or_else(|| CodecError::new("an operation on a list was applied to something else"))
}

fn map(value: &Value) -> Result<&Map<String, Value>, CodecError> {
    value.as_object().ok_or_else(|| CodecError::new("an operation on a map was applied to something else"))
}

/// An operation that puts or removes an item in a list whose items have ids.
#[derive(Deserialize)]
struct Row {
    id: String,
    #[serde(default)]
    item: Option<Value>,
}

impl Row {
    fn put(self, items: &mut Vec<Value>) {
        let id = text_of(&Value::from(self.id));
        let place = items.iter().position(|item| text_of(&item["id"]) == id);
        match (place, self.item) {
            (Some(place), Some(item)) => items[place] = item,
            (None, Some(item)) => items.push(item),
            (Some(place), None) => {
                items.remove(place);
            }
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests;
