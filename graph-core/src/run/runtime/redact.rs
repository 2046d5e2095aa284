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

/// The text shown in place of a secret.
const SECRET: &str = SecretTexts::HIDDEN;

/// Returns the JSON text shown in place of a secret value.
pub(crate) fn hidden() -> Json {
    Json::encode(SECRET).expect("a text has a JSON form")
}

/// A value of a field, as it may be shown.
pub(crate) fn value(value: &Json, field: FieldId, schema: &Schema) -> Json {
    if schema.field(field).secret { hidden() } else { value.clone() }
}

/// The texts of a state's secrets.
pub(crate) fn secrets(state: &dyn ErasedState, schema: &Schema) -> SecretTexts {
    let mut secrets = SecretTexts::default();
    let is_secret = |id: &FieldId| {
        let field = schema.field(*id);
        field.secret && field.lifetime != Lifetime::Unstored
    };
    for id in schema.ids().filter(is_secret) {
        // What has no JSON form has no texts that are told.
        if let Ok(value) = state.encode_field(id) {
            secrets.learn(&value);
        }
    }
    secrets
}

/// Why stored values of these fields do not decode, as it may be told: the text of a decoder quotes the value.
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

/// A write, as it may be shown.
pub(crate) fn write(write: &LoggedWrite, schema: &Schema) -> LoggedWrite {
    if !schema.field(write.field).secret {
        return write.clone();
    }
    LoggedWrite { field: write.field, write: without_value(&write.write) }
}

/// Writes, as they may be shown.
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

/// A write by the name of its field, as it may be shown.
pub(crate) fn named(one: &LoggedWrite, schema: &Schema) -> NamedWrite {
    let shown = write(one, schema);
    let (op, value) = match shown.write {
        Logged::Op(op) => (op.name(), op.operand().clone()),
        Logged::Reduce(argument) => ("reduce", argument),
    };
    NamedWrite { field: schema.field(one.field).name.clone(), op: op.into(), value }
}

/// A state by the names of its fields, as it may be shown. Those that are never stored are left out.
pub(crate) fn state(state: &dyn ErasedState, schema: &Schema) -> Json {
    let stored = schema.ids().filter(|field| schema.field(*field).lifetime != Lifetime::Unstored);
    let values: BTreeMap<&str, Json> = stored
        .map(|id| {
            let field = schema.field(id);
            if field.secret {
                return (field.name.as_str(), hidden());
            }
            let value = state.encode_field(id).unwrap_or_else(|error| {
                // Only without a checkpointer: it would have refused the state.
                let text: String = std::format!("cannot be encoded: {error}");
                Json::encode(&text).expect("a text has a JSON form")
            });
            (field.name.as_str(), value)
        })
        .collect();
    Json::encode(&values).expect("an object of JSON values has a JSON form")
}
