//! Redacts secret fields: output shows that they exist, without their values.

use serde_json::{Map, Value};

use superstep_core::checkpoint::Loaded;
use superstep_core::state::{Logged, LoggedWrite, Schema, SecretFields, SecretTexts};
use superstep_inspect::{Blame, Difference, Edit, Path, Segment};

use super::failure::Failure;

/// The text shown instead of a secret.
const SECRET: &str = SecretTexts::HIDDEN;

/// Returns the state with its secrets, for comparisons.
pub(super) fn whole_state(loaded: &Loaded) -> Result<Value, Failure> {
    let fields = loaded.values.iter().map(|held| {
        let name = loaded.schema.field(held.field).name.clone();
        Ok((name, held.value.decode::<Value>().map_err(Failure::damaged)?))
    });
    Ok(Value::Object(fields.collect::<Result<Map<_, _>, Failure>>()?))
}

/// Returns the state with its secret fields redacted.
pub(super) fn state(loaded: &Loaded, fields: &SecretFields) -> Result<Value, Failure> {
    let mut state = whole_state(loaded)?;
    hide(&mut state, fields);
    Ok(state)
}

/// Adds the texts of a state's secret fields to `texts`.
pub(super) fn learn(texts: &mut SecretTexts, loaded: &Loaded, fields: &SecretFields) {
    let secret = loaded.values.iter().filter(|held| fields.has(loaded.schema.field(held.field)));
    secret.for_each(|held| texts.learn(&held.value));
}

/// Redacts the secret fields of a state.
pub(super) fn hide(state: &mut Value, fields: &SecretFields) {
    for (name, value) in state.as_object_mut().into_iter().flatten() {
        if fields.has_name(name) {
            *value = SECRET.into();
        }
    }
}

/// Returns the secret field that a path leads into.
pub(super) fn field_of(path: &Path, fields: &SecretFields) -> Option<Path> {
    match path.segments().first() {
        Some(Segment::Key(name)) if fields.has_name(name) => {
            Some(Path::from_iter([Segment::Key(name.clone())]))
        }
        _ => None,
    }
}

/// Returns `true` if the value at a path contains no secret and is not part of one, so that it can be shown in full.
pub(super) fn leads_to_none(path: &Path, fields: &SecretFields) -> bool {
    !path.segments().is_empty() && field_of(path, fields).is_none()
}

/// Returns the differences between two states, with secrets redacted.
pub(super) fn differences(all: Vec<Difference>, fields: &SecretFields) -> Vec<Difference> {
    let mut shown: Vec<Difference> = Vec::new();
    for difference in all {
        let Some(field) = field_of(&difference.path, fields) else {
            shown.push(difference);
            continue;
        };
        let hidden = || Value::from(SECRET);
        let edit = match difference.edit {
            Edit::Added { .. } if field == difference.path => Edit::Added { value: hidden(), at: None },
            Edit::Removed { .. } if field == difference.path => Edit::Removed { value: hidden() },
            _ => Edit::Changed { from: hidden(), to: hidden() },
        };
        if shown.last().is_none_or(|last| last.path != field) {
            shown.push(Difference { path: field, edit });
        }
    }
    shown
}

/// Returns the authors of values, with secrets redacted.
pub(super) fn blamed(all: Vec<Blame>, fields: &SecretFields) -> Vec<Blame> {
    let mut shown: Vec<Blame> = Vec::new();
    for blame in all {
        match field_of(&blame.path, fields) {
            None => shown.push(blame),
            // The newest author of any part of the field.
            Some(path) => match shown.iter_mut().find(|held| held.path == path) {
                Some(held) if held.author.step >= blame.author.step => {}
                Some(held) => held.author = blame.author,
                None => {
                    let value = SECRET.into();
                    shown.push(Blame { path, value, author: blame.author, overwrote: None });
                }
            },
        }
    }
    shown
}

/// Returns the operation and its operand of a task's write, with secrets redacted.
pub(super) fn write(
    write: &LoggedWrite,
    schema: &Schema,
    fields: &SecretFields,
) -> Result<(String, Value), Failure> {
    let (op, operand) = match &write.write {
        Logged::Op(op) => (op.name(), op.operand()),
        Logged::Reduce(argument) => ("reduce", argument),
    };
    let value = match fields.has(schema.field(write.field)) {
        true => SECRET.into(),
        false => operand.decode().map_err(Failure::damaged)?,
    };
    Ok((op.to_owned(), value))
}
