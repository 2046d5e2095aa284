//! Support code for the expansion of `#[derive(State)]`. Not public API.
//!
//! The logic is here rather than in the expansion, so that a wide state compiles fast.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::indexes::Indexes;
use super::json::{CodecError, Json};
use super::op::{Logged, LoggedWrite};
use super::schema::{FieldId, FieldSchema, Lifetime, Schema, Writers};
use super::{FieldWrite, State, StateUpdate, Write, WriteKind};
use crate::reducer::{Indexed, Reducer};

/// The source of a state, from which [`FieldList::schema`] builds the state's schema.
pub struct FieldList<'a> {
    /// The state's type name.
    pub state: &'a str,
    /// The state's version.
    pub version: u32,
    /// The state's fields, in order.
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
        /// The number of writers, a constant of the reducer.
        writers: Writers,
        /// The lifetime of the value, a constant of the reducer.
        lifetime: Lifetime,
        /// `true` with `#[state(secret)]`.
        secret: bool,
    },
    /// An embedded state.
    Embedded {
        /// The name under which its fields are stored.
        path: &'a str,
        /// The function that returns its schema.
        schema: fn() -> Schema,
    },
}

impl FieldList<'_> {
    /// Builds the schema.
    #[must_use]
    pub fn schema(&self) -> Schema {
        let mut schema = Schema {
            name: self.state.to_owned(),
            version: self.version,
            fields: Vec::with_capacity(self.parts.len()),
            ..Schema::default()
        };
        for part in self.parts {
            match *part {
                Part::Embedded { path, schema: inner } => schema.embed(path, inner()),
                Part::Field { name, aliases, rust_type, reducer, writers, lifetime, secret } => {
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

/// The write type of a state without fields, or of a state that the derive rejected. It has no values.
pub struct NoWrite<S>(Infallible, PhantomData<fn() -> S>);

impl<S: 'static> FieldWrite for NoWrite<S> {
    type State = S;

    fn field(&self) -> FieldId {
        match self.0 {}
    }

    fn kind(&self) -> WriteKind {
        match self.0 {}
    }

    fn apply_with(self, _: &mut S, _: &mut Indexes) {
        match self.0 {}
    }

    fn duplicate(&self) -> Result<Self, CodecError> {
        match self.0 {}
    }

    fn encode(&self) -> Result<Option<LoggedWrite>, CodecError> {
        match self.0 {}
    }

    fn decode(logged: &LoggedWrite) -> Result<Self, CodecError> {
        Err(no_field("a state without fields", logged.field))
    }
}

/// The bounds on a stored field and on a stored write.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a checkpoint",
    label = "it, or a type in it, is not `Serialize` and `Deserialize`",
    note = "derive them: `#[derive(Serialize, Deserialize)]`",
    note = "or keep the field in memory only, with `#[state(transient)]`"
)]
pub trait Stored: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Stored for T {}

/// The operations that the expansion needs for a field of type `T` whose reducer takes a `W`.
///
/// There is one constant for each field. The bounds on the field's type and its reducer are checked there and
/// nowhere else, so that one mistake causes one error.
pub struct Codec<T, W> {
    reduce: fn(&mut T, W),
    indexed: Option<Indexed<T, W>>,
    copy: fn(&Write<T, W>) -> Copied<T, W>,
    /// The stored forms; `None` for a field that is not stored.
    forms: Option<Forms<T, W>>,
}

/// A copy of a write.
type Copied<T, W> = Result<Write<T, W>, CodecError>;

/// A write in its logged form; `None` when its field is not stored.
type MaybeLogged = Result<Option<LoggedWrite>, CodecError>;

struct Forms<T, W> {
    encode: fn(&T) -> Result<Json, CodecError>,
    decode: fn(&Json) -> Result<T, CodecError>,
    encode_write: fn(&Write<T, W>, FieldId) -> MaybeLogged,
    decode_write: fn(&Logged) -> Result<Write<T, W>, CodecError>,
}

impl<T, W> Codec<T, W> {
    /// Creates the operations of a field with the reducer `R`.
    #[must_use]
    pub const fn stored<R>() -> Self
    where
        T: Stored,
        W: Stored,
        R: Reducer<T, Write = W>,
    {
        let forms = match R::LIFETIME {
            Lifetime::Unstored => None,
            Lifetime::Stored | Lifetime::OneStep => Some(Forms {
                encode: Json::encode,
                decode: Json::decode,
                encode_write: Write::encode::<R>,
                decode_write: Write::decode::<R>,
            }),
        };
        Self { reduce: R::reduce, indexed: R::INDEXED, copy: Write::recode, forms }
    }

    /// Creates the operations of a field that is kept in memory only.
    #[must_use]
    pub const fn transient<R>() -> Self
    where
        T: Clone,
        W: Clone,
        R: Reducer<T, Write = W>,
    {
        Self { reduce: R::reduce, indexed: R::INDEXED, copy: |write| Ok(write.clone()), forms: None }
    }

    /// Applies a write to the field with this id.
    pub fn apply(&self, write: Write<T, W>, field: &mut T, indexes: &mut Indexes, id: u16) {
        match (write, self.indexed) {
            (Write::Reduce(write), None) => (self.reduce)(field, write),
            (Write::Reduce(write), Some(reduce)) => reduce(field, write, indexes.of(FieldId(id))),
            (Write::Set(value), indexed) => {
                *field = value;
                if indexed.is_some() {
                    indexes.forget(FieldId(id));
                }
            }
        }
    }

    /// Copies a write.
    ///
    /// # Errors
    /// Returns an error if the field is stored and the write does not survive its JSON form.
    pub fn copy(&self, write: &Write<T, W>) -> Result<Write<T, W>, CodecError> {
        (self.copy)(write)
    }

    /// Encodes the field's value.
    ///
    /// # Errors
    /// Returns an error if the value has no JSON form, or the field is not stored.
    pub fn encode(&self, value: &T, name: &str) -> Result<Json, CodecError> {
        (self.forms(name)?.encode)(value)
    }

    /// Replaces the field's value by a decoded one.
    ///
    /// # Errors
    /// Returns an error if the value does not decode, which leaves the field unchanged, or if the field is not
    /// stored.
    pub fn decode(&self, field: &mut T, value: &Json, name: &str) -> Result<(), CodecError> {
        *field = (self.forms(name)?.decode)(value)?;
        Ok(())
    }

    /// Returns the logged form of a write; `None` if the field is not stored.
    ///
    /// # Errors
    /// Returns an error if the write has no JSON form.
    pub fn encode_write(&self, write: &Write<T, W>, field: u16) -> Result<Option<LoggedWrite>, CodecError> {
        match &self.forms {
            Some(forms) => (forms.encode_write)(write, FieldId(field)),
            None => Ok(None),
        }
    }

    /// Decodes a logged write.
    ///
    /// # Errors
    /// Returns an error if the write does not fit the field, or the field is not stored.
    pub fn decode_write(&self, logged: &LoggedWrite, name: &str) -> Result<Write<T, W>, CodecError> {
        (self.forms(name)?.decode_write)(&logged.write)
    }

    fn forms(&self, name: &str) -> Result<&Forms<T, W>, CodecError> {
        self.forms.as_ref().ok_or_else(|| CodecError::new(format!("the field `{name}` is not stored")))
    }
}

/// Converts the ids of a write of an embedded state to those of the surrounding state.
///
/// # Errors
/// Returns the error of `write`.
pub fn lift(
    write: Result<Option<LoggedWrite>, CodecError>,
    base: u16,
) -> Result<Option<LoggedWrite>, CodecError> {
    let lift = |write: LoggedWrite| LoggedWrite { field: FieldId(base + write.field.0), ..write };
    Ok(write?.map(lift))
}

/// Converts the ids of a write to those of the embedded state that starts at `base`.
#[must_use]
pub fn lower(write: &LoggedWrite, base: u16) -> LoggedWrite {
    LoggedWrite { field: FieldId(write.field.0 - base), write: write.write.clone() }
}

/// Returns the error for an id beyond the last field.
#[must_use]
pub fn no_field(state: &str, field: FieldId) -> CodecError {
    CodecError::new(format!("`{state}` has no field with id {}", field.0))
}

/// Formats an update as its logged writes, without the values of secret fields.
///
/// # Errors
/// Returns an error if the formatter fails.
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
            Ok(Some(LoggedWrite { write: Logged::Op(op), .. })) if op.is_whole() => {
                shown.entry(&format_args!("{verb}{name}: {}", op.operand()))
            }
            Ok(Some(LoggedWrite { write: Logged::Op(op), .. })) => {
                shown.entry(&format_args!("{verb}{name}: {} {}", op.name(), op.operand()))
            }
            Ok(Some(LoggedWrite { write: Logged::Reduce(operand), .. })) => {
                shown.entry(&format_args!("{verb}{name}: {operand}"))
            }
            Ok(None) => shown.entry(&format_args!("{verb}{name}: <not stored>")),
            Err(error) => shown.entry(&format_args!("{verb}{name}: <{error}>")),
        };
    }
    shown.finish()
}
