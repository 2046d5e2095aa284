//! Redacts secret fields: readers see that they exist and are written, but not their values.
//!
//! Events, traces and documents show `"<secret>"` in place of their values.

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use super::event::NamedWrite;
use crate::state::{
    CodecError, ErasedState, FieldId, Json, Lifetime, Logged, LoggedWrite, Op, Schema, SecretTexts,
};

/// The text that replaces a secret.
const SECRET: &str = SecretTexts::HIDDEN;

/// Returns the JSON text that replaces a secret value.
pub(crate) fn hidden() -> Json {
    Json::encode(SECRET).expect("a text has a JSON form")
}

/// Returns a field's value, redacted if it is secret.
pub(crate) fn value(value: &Json, field: FieldId, schema: &Schema) -> Json {
    if schema.field(field).secret { hidden() } else { value.clone() }
}

/// Returns the texts of a state's secrets.
pub(crate) fn secrets(state: &dyn ErasedState, schema: &Schema) -> SecretTexts {
    let mut secrets = SecretTexts::default();
    let is_secret = |id: &FieldId| {
        let field = schema.field(*id);
        field.secret && field.lifetime != Lifetime::Unstored
    };
    for id in schema.ids().filter(is_secret) {
        // A value without a JSON form is never shown, so its texts need not be redacted.
        if let Ok(value) = state.encode_field(id) {
            secrets.learn(&value);
        }
    }
    secrets
}

/// Returns the reason why stored values of these fields do not decode, without secrets: the text of a decoder
/// quotes the value.
pub(crate) fn reason(
    reason: CodecError,
    fields: impl IntoIterator<Item = FieldId>,
    schema: &Schema,
) -> CodecError {
    match fields.into_iter().any(|field| schema.field(field).secret) {
        true => reason.redacted(),
        false => reason,
    }
}

/// Returns a write, redacted if its field is secret.
pub(crate) fn write(write: &LoggedWrite, schema: &Schema) -> LoggedWrite {
    if !schema.field(write.field).secret {
        return write.clone();
    }
    LoggedWrite { field: write.field, write: without_value(&write.write) }
}

/// Returns writes, redacted if their fields are secret.
pub(crate) fn writes(all: &[LoggedWrite], schema: &Schema) -> Vec<LoggedWrite> {
    all.iter().map(|one| write(one, schema)).collect()
}

/// Returns the operation with its operand redacted.
pub(crate) fn without_value(write: &Logged) -> Logged {
    let hidden = hidden();
    match write {
        Logged::Reduce(_) => Logged::Reduce(hidden),
        Logged::Op(op) => Logged::Op(match op {
            Op::Set(_) => Op::Set(hidden),
            Op::Extend(_) => Op::Extend(hidden),
            Op::MapPut(_) => Op::MapPut(hidden),
            Op::MapRemove(_) => Op::MapRemove(hidden),
            Op::SetAdd(_) => Op::SetAdd(hidden),
            Op::SetRemove(_) => Op::SetRemove(hidden),
            Op::Keyed(_) => Op::Keyed(hidden),
        }),
    }
}

/// Returns a write with the name of its field, redacted if the field is secret.
pub(crate) fn named(one: &LoggedWrite, schema: &Schema) -> NamedWrite {
    let shown = write(one, schema);
    let (op, value) = match shown.write {
        Logged::Op(op) => (op.name(), op.operand().clone()),
        Logged::Reduce(argument) => ("reduce", argument),
    };
    NamedWrite { field: schema.field(one.field).name.clone(), op: op.into(), value }
}

/// Returns a state by field name, with secret fields redacted and without those that are never stored.
pub(crate) fn state(state: &dyn ErasedState, schema: &Schema) -> Json {
    let stored = schema.ids().filter(|field| schema.field(*field).lifetime != Lifetime::Unstored);
    let values: BTreeMap<&str, Json> = stored
        .map(|id| {
            let field = schema.field(id);
            if field.secret {
                return (field.name.as_str(), hidden());
            }
            let value = state.encode_field(id).unwrap_or_else(|error| {
                // This happens only without a checkpointer, which would have rejected the state.
                let text: String = std::format!("cannot be encoded: {error}");
                Json::encode(&text).expect("a text has a JSON form")
            });
            (field.name.as_str(), value)
        })
        .collect();
    Json::encode(&values).expect("an object of JSON values has a JSON form")
}
