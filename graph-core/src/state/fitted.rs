//! Reducers of fields and schemas of states, as the expansion of `#[derive(State)]` names them. Not public API.
//!
//! The write types of a derived state are projections, `<Append as Reducer<Vec<u8>>>::Write`. Of a reducer that does not
//! fit its field the projection has no value, and rustc reports that wherever the expansion or its user mentions it. So
//! the expansion asserts once that the reducer fits, and names a [`Fitted`] reducer everywhere else, which always fits.

use core::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::json::{CodecError, Json};
use super::op::Op;
use super::schema::{Lifetime, Writers};
use crate::node::schema_of;
use crate::reducer::{Indexed, Reducer};

/// The reducer `R` where it fits its field, and one that replaces the value where it does not.
pub struct Fitted<R, const FITS: bool>(PhantomData<R>);

/// Its constant `FITS` says that `R` is a reducer of `T`: the inherent one where it is, that of [`Unfit`] otherwise.
pub struct Fitting<R, T>(PhantomData<(R, T)>);

/// The fallback of the inherent constant.
pub trait Unfit {
    /// True where the reducer fits.
    const FITS: bool = false;
}

impl<R, T> Unfit for Fitting<R, T> {}

impl<R: Reducer<T>, T> Fitting<R, T> {
    /// True where the reducer fits.
    pub const FITS: bool = true;
}

/// The one place where a reducer that does not fit its field is an error.
pub const fn assert_reducer<R: Reducer<T>, T>() {}

impl<T, R: Reducer<T>> Reducer<T> for Fitted<R, true> {
    type Write = R::Write;

    const WRITERS: Writers = R::WRITERS;
    const LIFETIME: Lifetime = R::LIFETIME;
    const INDEXED: Option<Indexed<T, R::Write>> = R::INDEXED;

    fn reduce(current: &mut T, write: R::Write) {
        R::reduce(current, write);
    }

    fn log(write: &R::Write) -> Result<Option<Op>, CodecError>
    where
        R::Write: Serialize,
    {
        R::log(write)
    }

    fn replay(op: &Op) -> Result<R::Write, CodecError>
    where
        R::Write: DeserializeOwned,
    {
        R::replay(op)
    }
}

impl<T: Send + 'static, R: 'static> Reducer<T> for Fitted<R, false> {
    type Write = T;

    fn reduce(current: &mut T, write: T) {
        *current = write;
    }
}

/// Its constant `JSON_SCHEMA` makes the JSON Schema of `T`: the inherent one where `T` has one, that of
/// [`Undescribed`] otherwise.
pub struct Described<T>(PhantomData<T>);

/// The fallback of the inherent constant.
pub trait Undescribed {
    /// `None`: the type has no schema.
    const JSON_SCHEMA: Option<fn() -> Json> = None;
}

impl<T> Undescribed for Described<T> {}

impl<T: JsonSchema> Described<T> {
    /// Makes the schema.
    pub const JSON_SCHEMA: Option<fn() -> Json> = Some(schema_of::<T>);
}
