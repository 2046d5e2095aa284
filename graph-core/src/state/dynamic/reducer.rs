//! The built-in reducers by name, applied to JSON values.

use alloc::format;
#[cfg(feature = "tokio")]
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Number, Value};

use super::shape::Kind;
use crate::reducer::KeyedIndex;
use crate::state::{CodecError, Json, Lifetime, Logged, Op, Writers};

/// A reducer of JSON values. Each works like the type of the same name in [`reducer`](crate::reducer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonReducer {
    LastValue,
    Any,
    Append,
    Merge,
    Union,
    KeyedLog,
    Sum,
    Max,
    Min,
    Ephemeral,
    Transient,
}

/// The names of the reducers in descriptions.
pub(super) const NAMES: [(&str, JsonReducer); 11] = [
    ("last_value", JsonReducer::LastValue),
    ("any", JsonReducer::Any),
    ("append", JsonReducer::Append),
    ("merge", JsonReducer::Merge),
    ("union", JsonReducer::Union),
    ("keyed_log", JsonReducer::KeyedLog),
    ("sum", JsonReducer::Sum),
    ("max", JsonReducer::Max),
    ("min", JsonReducer::Min),
    ("ephemeral", JsonReducer::Ephemeral),
    ("transient", JsonReducer::Transient),
];

impl JsonReducer {
    pub(super) fn find(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, reducer)| *reducer)
    }

    /// Returns the reducer of a stored field, whose name is as in the source of its state.
    #[cfg(feature = "tokio")]
    pub(super) fn written_as(source: &str) -> Option<Self> {
        let name = bare_name(source);
        NAMES.iter().find(|(known, _)| bare_name(known) == name).map(|(_, reducer)| *reducer)
    }

    /// Returns the value before the first write to a field of unknown type.
    #[cfg(feature = "tokio")]
    pub(super) fn empty(self) -> Value {
        match self {
            Self::Append | Self::Union | Self::KeyedLog => Value::Array(Vec::new()),
            Self::Merge => Value::Object(serde_json::Map::new()),
            Self::Sum => 0.into(),
            _ => Value::Null,
        }
    }

    /// Returns the field types to which the reducer applies; empty for all types.
    pub(super) fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Append | Self::Union | Self::KeyedLog => &[Kind::Array],
            Self::Merge => &[Kind::Object],
            Self::Sum | Self::Max | Self::Min => &[Kind::Integer, Kind::Number],
            Self::LastValue | Self::Any | Self::Ephemeral | Self::Transient => &[],
        }
    }

    pub(super) fn writers(self) -> Writers {
        match self {
            Self::LastValue | Self::Ephemeral | Self::Transient => Writers::One,
            _ => Writers::Many,
        }
    }

    pub(super) fn lifetime(self) -> Lifetime {
        match self {
            Self::Ephemeral => Lifetime::OneStep,
            Self::Transient => Lifetime::Unstored,
            _ => Lifetime::Stored,
        }
    }

    /// Returns the logged form of a write.
    pub(super) fn log(self, value: &Value) -> Result<Logged, CodecError> {
        let json = Json::encode(value)?;
        Ok(match self {
            Self::LastValue | Self::Ephemeral | Self::Transient => Logged::Op(Op::Set(json)),
            Self::Append => Logged::Op(Op::Extend(json)),
            Self::Merge => Logged::Op(Op::MapPut(json)),
            Self::Union => Logged::Op(Op::SetAdd(json)),
            Self::KeyedLog => Logged::Op(Op::Keyed(Json::encode(&rows(value)?)?)),
            Self::Any | Self::Sum | Self::Max | Self::Min => Logged::Reduce(json),
        })
    }

    /// Applies a logged write to a value with this index.
    pub(super) fn apply(
        self,
        current: &mut Value,
        write: &Logged,
        index: &mut KeyedIndex,
    ) -> Result<(), CodecError> {
        match write {
            Logged::Op(Op::Set(value)) => {
                *current = value.decode()?;
                *index = KeyedIndex::new();
            }
            Logged::Op(Op::Extend(items)) => list(current)?.extend(items.decode::<Vec<Value>>()?),
            Logged::Op(Op::MapPut(entries)) => match current {
                Value::Object(members) => members.extend(entries.decode::<serde_json::Map<_, _>>()?),
                other => return Err(unfit(other, "an object")),
            },
            Logged::Op(Op::SetAdd(items)) => {
                let set = list(current)?;
                for item in items.decode::<Vec<Value>>()? {
                    if !set.contains(&item) {
                        set.push(item);
                    }
                }
            }
            Logged::Op(Op::Keyed(rows)) => put(list(current)?, index, rows.decode()?),
            Logged::Op(other) => {
                return Err(CodecError::new(format!("the field knows no operation `{}`", other.name())));
            }
            Logged::Reduce(value) => self.reduce(current, value.decode()?)?,
        }
        Ok(())
    }

    fn reduce(self, current: &mut Value, write: Value) -> Result<(), CodecError> {
        match (self, &*current, &write) {
            (Self::Sum, Value::Number(a), Value::Number(b)) => *current = Value::Number(sum(a, b)?),
            (Self::Max, Value::Number(a), Value::Number(b)) if !greater(b, a) => {}
            (Self::Min, Value::Number(a), Value::Number(b)) if !greater(a, b) => {}
            (Self::Max | Self::Min, Value::Number(_), Value::Number(_)) | (Self::Any, ..) => *current = write,
            (_, other, _) => return Err(unfit(other, "a number")),
        }
        Ok(())
    }
}

/// Returns the name of a reducer without its path, in lower case and without underscores: the same for derived and
/// described states.
#[cfg(feature = "tokio")]
pub(crate) fn bare_name(reducer: &str) -> String {
    reducer.rsplit("::").next().unwrap_or_default().trim().replace('_', "").to_ascii_lowercase()
}

fn list(current: &mut Value) -> Result<&mut Vec<Value>, CodecError> {
    match current {
        Value::Array(items) => Ok(items),
        other => Err(unfit(other, "an array")),
    }
}

fn unfit(found: &Value, expected: &str) -> CodecError {
    CodecError::new(format!("expected {expected} in the field, found {}", super::place::brief(found)))
}

/// Converts items to the rows of a keyed log; each must have a text member `id`.
fn rows(items: &Value) -> Result<Vec<Value>, CodecError> {
    let row = |item: &Value| match item.get("id").and_then(Value::as_str) {
        Some(id) => Ok(serde_json::json!({ "id": id, "item": item })),
        None => Err(CodecError::new("an item of a keyed log has a text member `id`")),
    };
    items.as_array().into_iter().flatten().map(row).collect()
}

fn put(log: &mut Vec<Value>, index: &mut KeyedIndex, rows: Vec<Value>) {
    for mut row in rows {
        let item = row.get_mut("item").map(Value::take);
        let id = id_of(&row).unwrap_or_default();
        match item {
            Some(item) => {
                let at = index.find(log, id, id_of);
                index.put_at(log, at, item, id_of);
            }
            None => index.remove_by(log, id, id_of),
        }
    }
}

fn id_of(item: &Value) -> Option<&str> {
    item.get("id").and_then(Value::as_str)
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn sum(a: &Number, b: &Number) -> Result<Number, CodecError> {
    let overflow = || CodecError::new("the sum does not fit into a number");
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => {
            let sum = a + b;
            let signed = i64::try_from(sum).map(Number::from);
            signed.or_else(|_| u64::try_from(sum).map(Number::from)).map_err(|_| overflow())
        }
        _ => {
            let sum = a.as_f64().unwrap_or(f64::NAN) + b.as_f64().unwrap_or(f64::NAN);
            Number::from_f64(sum).ok_or_else(overflow)
        }
    }
}

fn greater(a: &Number, b: &Number) -> bool {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a > b,
        _ => a.as_f64() > b.as_f64(),
    }
}
