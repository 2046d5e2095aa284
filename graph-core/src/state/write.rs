//! Writes to fields, and the types that setters accept.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::json::{CodecError, Json};
use super::op::{Logged, LoggedWrite, Op};
use super::schema::{FieldId, Lifetime};
use crate::reducer::Reducer;

/// The kind of a write: through the field's reducer, or an overwrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Goes through the reducer.
    Reduce,
    /// Replaces the value, including what other tasks reduced in the same superstep.
    Overwrite,
}

/// One write to a field of type `T` whose reducer takes a `W`.
#[derive(Clone, Debug, PartialEq)]
pub enum Write<T, W> {
    /// Goes through the reducer.
    Reduce(W),
    /// Replaces the value.
    Set(T),
}

impl<T, W> Write<T, W> {
    /// Returns the kind of the write.
    pub fn kind(&self) -> WriteKind {
        match self {
            Self::Reduce(_) => WriteKind::Reduce,
            Self::Set(_) => WriteKind::Overwrite,
        }
    }

    /// Applies the write to the field's current value.
    pub fn apply<R: Reducer<T, Write = W>>(self, current: &mut T) {
        match self {
            Self::Reduce(write) => R::reduce(current, write),
            Self::Set(value) => *current = value,
        }
    }

    /// Returns the logged form of the write; `None` if the reducer's fields are not stored.
    ///
    /// # Errors
    /// Returns an error if the value has no JSON form.
    pub fn encode<R>(&self, field: FieldId) -> Result<Option<LoggedWrite>, CodecError>
    where
        R: Reducer<T, Write = W>,
        T: Serialize,
        W: Serialize,
    {
        if R::LIFETIME == Lifetime::Unstored {
            return Ok(None);
        }
        let write = match self {
            Self::Set(value) => Logged::Op(Op::Set(Json::encode(value)?)),
            Self::Reduce(write) => match R::log(write)? {
                Some(op) => Logged::Op(op),
                None => Logged::Reduce(Json::encode(write)?),
            },
        };
        Ok(Some(LoggedWrite { field, write }))
    }

    /// Copies the write through its JSON form, because operands need not be `Clone`.
    ///
    /// # Errors
    /// Returns an error if the operand does not decode.
    pub fn recode(&self) -> Result<Self, CodecError>
    where
        T: Serialize + DeserializeOwned,
        W: Serialize + DeserializeOwned,
    {
        Ok(match self {
            Self::Reduce(write) => Self::Reduce(Json::encode(write)?.decode()?),
            Self::Set(value) => Self::Set(Json::encode(value)?.decode()?),
        })
    }

    /// Decodes a logged write.
    ///
    /// # Errors
    /// Returns an error if the operand does not decode, or the reducer has no such operation.
    pub fn decode<R>(logged: &Logged) -> Result<Self, CodecError>
    where
        R: Reducer<T, Write = W>,
        T: DeserializeOwned,
        W: DeserializeOwned,
    {
        match logged {
            Logged::Reduce(write) => Ok(Self::Reduce(write.decode()?)),
            Logged::Op(Op::Set(value)) => Ok(Self::Set(value.decode()?)),
            Logged::Op(op) => Ok(Self::Reduce(R::replay(op)?)),
        }
    }
}

/// A type that a setter accepts for a write of type `W`: the write itself, or a convenient form of it (`"text"` for
/// a `String`, an array for a `Vec`, a value for an `Option` of it).
#[diagnostic::on_unimplemented(
    message = "this field cannot be written with a `{Self}`",
    label = "expected a `{W}` or a value that converts into one",
    note = "`&str` is accepted for `String`, arrays for `Vec`, and a value for an `Option` of it"
)]
pub trait IntoWrite<W> {
    /// Converts the value into the write.
    fn into_write(self) -> W;
}

impl<W> IntoWrite<W> for W {
    fn into_write(self) -> W {
        self
    }
}

impl IntoWrite<String> for &str {
    fn into_write(self) -> String {
        self.to_owned()
    }
}

impl<W> IntoWrite<Option<W>> for W {
    fn into_write(self) -> Option<W> {
        Some(self)
    }
}

impl IntoWrite<Option<String>> for &str {
    fn into_write(self) -> Option<String> {
        Some(self.to_owned())
    }
}

impl<A, W, const N: usize> IntoWrite<Vec<W>> for [A; N]
where
    A: IntoWrite<W>,
{
    fn into_write(self) -> Vec<W> {
        self.into_iter().map(IntoWrite::into_write).collect()
    }
}

impl<A: Ord, const N: usize> IntoWrite<BTreeSet<A>> for [A; N] {
    fn into_write(self) -> BTreeSet<A> {
        self.into_iter().collect()
    }
}

impl<K: Ord, V, const N: usize> IntoWrite<BTreeMap<K, V>> for [(K, V); N] {
    fn into_write(self) -> BTreeMap<K, V> {
        self.into_iter().collect()
    }
}
