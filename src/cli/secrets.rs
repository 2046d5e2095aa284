//! What is told of secret fields: that they are there, and not with what.

use serde_json::{Map, Value};

use crate::checkpoint::Loaded;
use crate::inspect::{Blame, Difference, Edit, Path, Segment};
use crate::state::{Logged, LoggedWrite, Schema, SecretTexts};

use super::failure::Failure;

/// What is shown in the place of a secret.
const SECRET: &str = SecretTexts::HIDDEN;

/// The state as it is, for looking for differences.
pub(super) fn whole_state(loaded: &Loaded) -> Result<Value, Failure> {
    let fields = loaded.values.iter().map(|held| {
        let name = loaded.schema.field(held.field).name.clone();
        Ok((name, held.value.decode::<Value>().map_err(Failure::damaged)?))
    });
    Ok(Value::Object(fields.collect::<Result<Map<_, _>, Failure>>()?))
}

/// The state as it may be shown.
pub(super) fn state(loaded: &Loaded) -> Result<Value, Failure> {
    let mut state = whole_state(loaded)?;
    hide(&mut state, &loaded.schema);
    Ok(state)
}

/// Learns the texts of a state's secret fields.
pub(super) fn learn(texts: &mut SecretTexts, loaded: &Loaded) {
    let secret = loaded.values.iter().filter(|held| loaded.schema.field(held.field).secret);
    secret.for_each(|held| texts.learn(&held.value));
}

/// Hides the secret fields of a state.
pub(super) fn hide(state: &mut Value, schema: &Schema) {
    for (name, value) in state.as_object_mut().into_iter().flatten() {
        if is_secret(name, schema) {
            *value = SECRET.into();
        }
    }
}

/// Whether a field is secret, or was called so when it was.
fn is_secret(name: &str, schema: &Schema) -> bool {
    let called = |field: &crate::state::FieldSchema| {
        field.name == name || field.aliases.iter().any(|alias| alias == name)
    };
    schema.fields.iter().any(|field| field.secret && called(field))
}

/// The secret field that a path leads into.
pub(super) fn field_of(path: &Path, schema: &Schema) -> Option<Path> {
    match path.segments().first() {
        Some(Segment::Key(name)) if is_secret(name, schema) => {
            Some(Path::from_iter([Segment::Key(name.clone())]))
        }
        _ => None,
    }
}

/// Whether nothing secret is at a path or around it: then what is there may be looked at as it is.
pub(super) fn leads_to_none(path: &Path, schema: &Schema) -> bool {
    !path.segments().is_empty() && field_of(path, schema).is_none()
}

/// The differences between two states, as they may be shown.
pub(super) fn differences(all: Vec<Difference>, schema: &Schema) -> Vec<Difference> {
    let mut shown: Vec<Difference> = Vec::new();
    for difference in all {
        let Some(field) = field_of(&difference.path, schema) else {
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

/// Who wrote what, as it may be shown.
pub(super) fn blamed(all: Vec<Blame>, schema: &Schema) -> Vec<Blame> {
    let mut shown: Vec<Blame> = Vec::new();
    for blame in all {
        match field_of(&blame.path, schema) {
            None => shown.push(blame),
            // The newest author of any part of it.
            Some(path) => match shown.iter_mut().find(|held| held.path == path) {
                Some(held) if held.author.step >= blame.author.step => {}
                Some(held) => held.author = blame.author,
                None => shown.push(Blame { path, value: SECRET.into(), author: blame.author }),
            },
        }
    }
    shown
}

/// What a task wrote, as it may be shown: the operation and its operand.
pub(super) fn write(write: &LoggedWrite, schema: &Schema) -> Result<(String, Value), Failure> {
    let (op, operand) = match &write.write {
        Logged::Op(op) => (op.name(), op.operand()),
        Logged::Reduce(argument) => ("reduce", argument),
    };
    let value = match schema.field(write.field).secret {
        true => SECRET.into(),
        false => operand.decode().map_err(Failure::damaged)?,
    };
    Ok((op.to_owned(), value))
}
