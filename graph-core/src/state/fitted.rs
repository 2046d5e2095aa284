//! Fitted reducers and schemas of states, which the expansion of `#[derive(State)]` names. Not public API.
//!
//! The write types of a derived state are projections, such as `<Append as Reducer<Vec<u8>>>::Write`. If a reducer
//! does not fit its field, the projection has no type, and rustc reports an error wherever the expansion or its
//! user mentions it. Therefore the expansion asserts once that the reducer fits, and everywhere else it names a
//! [`Fitted`] reducer, which always fits.

use core::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::json::{CodecError, Json};
use super::op::Op;
use super::schema::{Lifetime, Writers};
use crate::node::schema_of;
use crate::reducer::{Indexed, Reducer};

/// The reducer `R` if it fits its field, otherwise a reducer that replaces the value.
pub struct Fitted<R, const FITS: bool>(PhantomData<R>);

/// A probe whose constant `FITS` is `true` if `R` is a reducer of `T`. If it is, the inherent constant applies,
/// otherwise that of [`Unfit`].
pub struct Fitting<R, T>(PhantomData<(R, T)>);

/// The fallback for the inherent constant.
pub trait Unfit {
    /// `true` if the reducer fits.
    const FITS: bool = false;
}

impl<R, T> Unfit for Fitting<R, T> {}

impl<R: Reducer<T>, T> Fitting<R, T> {
    /// `true` if the reducer fits.
    pub const FITS: bool = true;
}

/// Fails to compile if a reducer does not fit its field. The expansion causes this error in no other place.
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

/// A probe whose constant `JSON_SCHEMA` returns the JSON Schema of `T`. If `T` has one, the inherent constant
/// applies, otherwise that of [`Undescribed`].
pub struct Described<T>(PhantomData<T>);

/// The fallback of the inherent constant.
pub trait Undescribed {
    /// `None`, because the type has no schema.
    const JSON_SCHEMA: Option<fn() -> Json> = None;
}

impl<T> Undescribed for Described<T> {}

impl<T: JsonSchema> Described<T> {
    /// Returns the schema.
    pub const JSON_SCHEMA: Option<fn() -> Json> = Some(schema_of::<T>);
}
