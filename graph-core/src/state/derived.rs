//! What the expansion of `#[derive(State)]` calls. Not public API.
//!
//! Logic lives here rather than in the expansion, so that a wide state compiles fast.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::json::{CodecError, Json};
use super::op::{Logged, LoggedWrite};
use super::schema::{FieldId, FieldSchema, Lifetime, Schema, Writers};
use super::{FieldWrite, State, StateUpdate, WriteKind};
use crate::reducer::Reducer;

/// A state's source, from which [`FieldList::schema`] makes its schema.
pub struct FieldList<'a> {
    /// The state's type name.
    pub state: &'a str,
    /// Its fields, in order.
    pub parts: &'a [Part<'a>],
}

/// One field of the struct.
pub enum Part<'a> {
    /// A field with a reducer.
    Field {
        /// The stored name.
        name: &'a str,
        /// Former names.
        aliases: &'a [&'a str],
        /// The type, as written.
        rust_type: &'a str,
        /// The reducer, as written.
        reducer: &'a str,
        /// The reducer's constant.
        writers: Writers,
        /// The reducer's constant.
        lifetime: Lifetime,
        /// From `#[state(secret)]`.
        secret: bool,
    },
    /// An embedded state.
    Embedded {
        /// The name its fields are stored under.
        path: &'a str,
        /// Its schema.
        schema: fn() -> Schema,
    },
}

impl FieldList<'_> {
    /// The schema.
    #[must_use]
    pub fn schema(&self) -> Schema {
        let mut schema = Schema {
            name: self.state.to_owned(),
            fields: Vec::with_capacity(self.parts.len()),
        };
        for part in self.parts {
            match *part {
                Part::Embedded { path, schema: inner } => schema.embed(path, inner()),
                Part::Field {
                    name,
                    aliases,
                    rust_type,
                    reducer,
                    writers,
                    lifetime,
                    secret,
                } => {
                    schema.fields.push(FieldSchema {
                        name: name.to_owned(),
                        aliases: aliases.iter().map(|&alias| alias.to_owned()).collect(),
                        rust_type: rust_type.to_owned(),
                        reducer: reducer.to_owned(),
                        writers,
                        lifetime,
                        secret,
                    });
                }
            }
        }
        schema
    }
}

/// The write type of a state without fields, or of one that the derive refused. There is no value of it.
pub struct NoWrite<S>(Infallible, PhantomData<fn() -> S>);

impl<S: 'static> FieldWrite for NoWrite<S> {
    type State = S;

    fn field(&self) -> FieldId {
        match self.0 {}
    }

    fn kind(&self) -> WriteKind {
        match self.0 {}
    }

    fn apply(self, _: &mut S) {
        match self.0 {}
    }

    fn encode(&self) -> Result<Option<LoggedWrite>, CodecError> {
        match self.0 {}
    }

    fn decode(logged: &LoggedWrite) -> Result<Self, CodecError> {
        Err(no_field("a state without fields", logged.field))
    }
}

/// Encodes the value of a field whose reducer is `R`.
///
/// # Errors
/// When the value has no JSON form, or the reducer's fields are not stored.
pub fn encode_stored<T, R>(value: &T, name: &str) -> Result<Json, CodecError>
where
    T: Serialize,
    R: Reducer<T>,
{
    match R::LIFETIME {
        Lifetime::Unstored => Err(not_stored(name)),
        Lifetime::Stored | Lifetime::OneStep => Json::encode(value),
    }
}

/// Replaces `field` by the decoded `value`.
///
/// # Errors
/// When the value does not decode; the field is then unchanged.
pub fn decode_into<T: DeserializeOwned>(field: &mut T, value: &Json) -> Result<(), CodecError> {
    *field = value.decode()?;
    Ok(())
}

/// Moves a write of an embedded state to the ids of the state around it.
#[must_use]
pub fn lift(write: Option<LoggedWrite>, base: u16) -> Option<LoggedWrite> {
    write.map(|write| LoggedWrite {
        field: FieldId(base + write.field.0),
        ..write
    })
}

/// Moves a write to the ids of the embedded state that starts at `base`.
#[must_use]
pub fn lower(write: &LoggedWrite, base: u16) -> LoggedWrite {
    LoggedWrite {
        field: FieldId(write.field.0 - base),
        write: write.write.clone(),
    }
}

/// The error for an id beyond the last field.
#[must_use]
pub fn no_field(state: &str, field: FieldId) -> CodecError {
    CodecError::new(format!("`{state}` has no field with id {}", field.0))
}

/// The error for a field that checkpoints do not hold.
#[must_use]
pub fn not_stored(name: &str) -> CodecError {
    CodecError::new(format!("the field `{name}` is not stored"))
}

/// Shows an update as its logged writes, without the values of secret fields.
///
/// # Errors
/// When the formatter fails.
pub fn debug_update<U: StateUpdate>(update: &U, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let schema = U::State::schema();
    write!(f, "{}Update ", schema.name)?;
    let mut shown = f.debug_list();
    for write in update.writes() {
        let field = schema.field(write.field());
        let verb = match write.kind() {
            WriteKind::Reduce => "",
            WriteKind::Overwrite => "set ",
        };
        let name = &field.name;
        match write.encode() {
            _ if field.secret => shown.entry(&format_args!("{verb}{name}: <secret>")),
            Ok(Some(LoggedWrite {
                write: Logged::Op(op),
                ..
            })) if op.is_whole() => shown.entry(&format_args!("{verb}{name}: {}", op.operand())),
            Ok(Some(LoggedWrite {
                write: Logged::Op(op),
                ..
            })) => shown.entry(&format_args!("{verb}{name}: {} {}", op.name(), op.operand())),
            Ok(Some(LoggedWrite {
                write: Logged::Reduce(operand),
                ..
            })) => shown.entry(&format_args!("{verb}{name}: {operand}")),
            Ok(None) => shown.entry(&format_args!("{verb}{name}: <not stored>")),
            Err(error) => shown.entry(&format_args!("{verb}{name}: <{error}>")),
        };
    }
    shown.finish()
}
