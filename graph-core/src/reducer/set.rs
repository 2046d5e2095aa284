//! The reducer of sets.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Reducer, unknown_operation};
use crate::state::{CodecError, IntoWrite, Json, Op};

/// Adds items to a set, or removes them.
///
/// It supports `BTreeSet` and, with the standard library, `HashSet`.
#[derive(Clone, Copy, Debug)]
pub struct Union;

/// A write through [`Union`]. Setters also accept a set or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetWrite<T> {
    /// Adds these items.
    Add(Vec<T>),
    /// Removes these items.
    Remove(Vec<T>),
}

impl<T> SetWrite<T> {
    /// Removes these items.
    pub fn remove(items: impl IntoIterator<Item = T>) -> Self {
        Self::Remove(items.into_iter().collect())
    }

    fn log(&self) -> Result<Op, CodecError>
    where
        T: Serialize,
    {
        Ok(match self {
            Self::Add(items) => Op::SetAdd(Json::encode(items)?),
            Self::Remove(items) => Op::SetRemove(Json::encode(items)?),
        })
    }

    fn replay(op: &Op) -> Result<Self, CodecError>
    where
        T: DeserializeOwned,
    {
        Ok(match op {
            Op::SetAdd(items) => Self::Add(items.decode()?),
            Op::SetRemove(items) => Self::Remove(items.decode()?),
            other => return Err(unknown_operation(other)),
        })
    }
}

impl<T> Reducer<BTreeSet<T>> for Union
where
    T: Serialize + DeserializeOwned + Ord + Send + 'static,
{
    type Write = SetWrite<T>;

    fn reduce(current: &mut BTreeSet<T>, write: SetWrite<T>) {
        match write {
            SetWrite::Add(items) => current.extend(items),
            SetWrite::Remove(items) => items.iter().for_each(|item| {
                current.remove(item);
            }),
        }
    }

    fn log(write: &SetWrite<T>) -> Result<Option<Op>, CodecError> {
        write.log().map(Some)
    }

    fn replay(op: &Op) -> Result<SetWrite<T>, CodecError> {
        SetWrite::replay(op)
    }
}

#[cfg(feature = "std")]
impl<T, H> Reducer<HashSet<T, H>> for Union
where
    T: Serialize + DeserializeOwned + Eq + core::hash::Hash + Send + 'static,
    H: core::hash::BuildHasher,
{
    type Write = SetWrite<T>;

    fn reduce(current: &mut HashSet<T, H>, write: SetWrite<T>) {
        match write {
            SetWrite::Add(items) => current.extend(items),
            SetWrite::Remove(items) => items.iter().for_each(|item| {
                current.remove(item);
            }),
        }
    }

    fn log(write: &SetWrite<T>) -> Result<Option<Op>, CodecError> {
        write.log().map(Some)
    }

    fn replay(op: &Op) -> Result<SetWrite<T>, CodecError> {
        SetWrite::replay(op)
    }
}

impl<T> IntoWrite<SetWrite<T>> for BTreeSet<T> {
    fn into_write(self) -> SetWrite<T> {
        SetWrite::Add(self.into_iter().collect())
    }
}

#[cfg(feature = "std")]
impl<T, H> IntoWrite<SetWrite<T>> for HashSet<T, H> {
    fn into_write(self) -> SetWrite<T> {
        SetWrite::Add(self.into_iter().collect())
    }
}

impl<A: IntoWrite<T>, T, const N: usize> IntoWrite<SetWrite<T>> for [A; N] {
    fn into_write(self) -> SetWrite<T> {
        SetWrite::Add(self.into_iter().map(IntoWrite::into_write).collect())
    }
}

impl<T: Serialize> Serialize for SetWrite<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.log().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for SetWrite<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::replay(&Op::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
