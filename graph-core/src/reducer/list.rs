//! The reducer of lists.

use alloc::vec::Vec;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Reducer, unknown_operation};
use crate::state::{CodecError, Json, Op};

/// Adds the written items at the end. A superstep only stores the new items, however long the list is.
#[derive(Clone, Copy, Debug)]
pub struct Append;

impl<T: Send + 'static> Reducer<Vec<T>> for Append {
    type Write = Vec<T>;

    fn reduce(current: &mut Vec<T>, write: Vec<T>) {
        current.extend(write);
    }

    fn log(write: &Vec<T>) -> Result<Option<Op>, CodecError>
    where
        Vec<T>: Serialize,
    {
        Ok(Some(Op::Extend(Json::encode(write)?)))
    }

    fn replay(op: &Op) -> Result<Vec<T>, CodecError>
    where
        Vec<T>: DeserializeOwned,
    {
        match op {
            Op::Extend(items) => items.decode(),
            other => Err(unknown_operation(other)),
        }
    }
}
