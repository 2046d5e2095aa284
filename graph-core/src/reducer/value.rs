//! Reducers of single values.

use serde::Serialize;

use super::Reducer;
use crate::state::{CodecError, Json, Lifetime, Op, Writers};

/// The default reducer: a write replaces the value; two tasks writing in one superstep are an error.
#[derive(Clone, Copy, Debug)]
pub struct LastValue;

impl<T: Send + 'static> Reducer<T> for LastValue {
    type Write = T;
    const WRITERS: Writers = Writers::One;

    fn reduce(current: &mut T, write: T) {
        *current = write;
    }

    fn log(write: &T) -> Result<Option<Op>, CodecError>
    where
        T: Serialize,
    {
        set(write)
    }
}

/// A write replaces the value; of several in one superstep, the last in task order stays.
///
/// For values that every writer agrees on, or where any of them will do.
#[derive(Clone, Copy, Debug)]
pub struct Any;

impl<T: Send + 'static> Reducer<T> for Any {
    type Write = T;

    fn reduce(current: &mut T, write: T) {
        *current = write;
    }

    // Not logged as `Set`: that would read back as an overwrite, and two overwrites conflict.
}

/// A value for the next superstep only: the field returns to its initial value at the barrier after it.
#[derive(Clone, Copy, Debug)]
pub struct Ephemeral;

impl<T: Send + 'static> Reducer<T> for Ephemeral {
    type Write = T;
    const WRITERS: Writers = Writers::One;
    const LIFETIME: Lifetime = Lifetime::OneStep;

    fn reduce(current: &mut T, write: T) {
        *current = write;
    }

    fn log(write: &T) -> Result<Option<Op>, CodecError>
    where
        T: Serialize,
    {
        set(write)
    }
}

/// A value that is kept in memory and never stored: after a resume the field has its initial value.
///
/// `#[state(transient)]` uses it, and also lifts the bound that the field be serialisable.
#[derive(Clone, Copy, Debug)]
pub struct Transient;

impl<T: Send + 'static> Reducer<T> for Transient {
    type Write = T;
    const WRITERS: Writers = Writers::One;
    const LIFETIME: Lifetime = Lifetime::Unstored;

    fn reduce(current: &mut T, write: T) {
        *current = write;
    }
}

/// A write of one value is the value: it is logged as the whole field.
fn set<T: Serialize>(write: &T) -> Result<Option<Op>, CodecError> {
    Ok(Some(Op::Set(Json::encode(write)?)))
}
