//! Reducers of single values.

use serde::Serialize;

use super::Reducer;
use crate::state::{CodecError, Json, Lifetime, Op, Writers};

/// The default reducer: a write replaces the value, and writes of two tasks in one superstep are an error.
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

/// Replaces the value. Of several writes in one superstep, the last one in task order is kept.
///
/// Use it for values on which all writers agree, or if any of the written values will do.
#[derive(Clone, Copy, Debug)]
pub struct Any;

impl<T: Send + 'static> Reducer<T> for Any {
    type Write = T;

    fn reduce(current: &mut T, write: T) {
        *current = write;
    }

    // The write is not logged as `Set`, which would be decoded as an overwrite, and two overwrites conflict.
}

/// Keeps a value for the next superstep only: the field returns to its initial value at the barrier after it.
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

/// Keeps a value in memory without storing it: after a resume the field has its initial value.
///
/// `#[state(transient)]` uses it, and also removes the requirement that the field be serialisable.
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

/// Logs a write as the whole value of the field.
fn set<T: Serialize>(write: &T) -> Result<Option<Op>, CodecError> {
    Ok(Some(Op::Set(Json::encode(write)?)))
}
