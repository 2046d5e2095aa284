//! Updates of derived states from JSON: each value becomes the write that its field's reducer takes.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::dynamic::{JsonError, brief, suggestion};
use super::json::{CodecError, Json};
use super::op::{Logged, LoggedWrite, Op};
use super::schema::{FieldId, FieldSchema, Schema};
use super::{FieldWrite, State, StateUpdate};

/// Creates an update from JSON values: see [`State::update_from`].
pub(super) fn update<S: State>(values: &Value) -> Result<S::Update, JsonError> {
    let schema = S::schema();
    let Value::Object(members) = values else {
        let secret = schema.fields.iter().any(|field| field.secret);
        let found = if secret { "another value".into() } else { brief(values) };
        return Err(JsonError::NotAnObject { found });
    };
    let writes = members.iter().map(|(name, value)| {
        let id = find(&schema, name)?;
        let field = schema.field(id);
        write::<S>(id, field, value).map_err(|error| JsonError::Misfit {
            field: name.clone(),
            reason: if field.secret { error.redacted() } else { error }.to_string(),
        })
    });
    Ok(S::Update::from_writes(writes.collect::<Result<Vec<_>, _>>()?))
}

fn find(schema: &Schema, name: &str) -> Result<FieldId, JsonError> {
    schema.find(name).ok_or_else(|| JsonError::NoSuchField {
        field: name.into(),
        meant: suggestion(name, schema.fields.iter().map(|field| field.name.as_str())),
    })
}

/// Returns the write for a value: that of the built-in reducer with the field's reducer name, or the reducer's own
/// type decoded from the value.
fn write<S: State>(field: FieldId, described: &FieldSchema, value: &Value) -> Result<S::Write, CodecError> {
    let read = |write| S::Write::decode(&LoggedWrite { field, write });
    let given = Json::encode(value)?;
    // The name is written as in the source, with or without a path.
    let reducer = described.reducer.rsplit("::").next().unwrap_or_default().trim();
    let op = match reducer {
        "Merge" => Ok(Op::MapPut(given.clone())),
        "Union" => Ok(Op::SetAdd(given.clone())),
        "KeyedLog" => rows(value).and_then(|rows| Ok(Op::Keyed(Json::encode(&rows)?))),
        _ => return read(Logged::Reduce(given)),
    };
    let written = op.and_then(|op| read(Logged::Op(op)));
    // A user's reducer may have the same name as a built-in one.
    written.or_else(|error| read(Logged::Reduce(given)).map_err(|_| error))
}

/// Converts items to the rows of a keyed log. Each item must have a text member `id`.
fn rows(items: &Value) -> Result<Vec<Value>, CodecError> {
    let Value::Array(items) = items else {
        return Err(CodecError::new(format!("expected a list of items, found {}", brief(items))));
    };
    let row = |item: &Value| match item.get("id").and_then(Value::as_str) {
        Some(id) => Ok(json!({ "id": id, "item": item })),
        None => Err(CodecError::new("an item of a keyed log has a text member `id`")),
    };
    items.iter().map(row).collect()
}
