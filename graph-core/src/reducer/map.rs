//! The reducer of maps.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
#[cfg(feature = "std")]
use std::collections::HashMap;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Reducer, unknown_operation};
use crate::state::{CodecError, IntoWrite, Json, Op};

/// Puts entries into a map, or removes them. A later write replaces the value of an existing key.
///
/// It supports `BTreeMap` and, with the standard library, `HashMap`. Keys must have a text form, as in JSON.
#[derive(Clone, Copy, Debug)]
pub struct Merge;

/// A write through [`Merge`]. Setters also accept a map or an array of pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapWrite<K, V> {
    /// Puts these entries.
    Put(Vec<(K, V)>),
    /// Removes the entries with these keys.
    Remove(Vec<K>),
}

impl<K, V> MapWrite<K, V> {
    /// Removes the entries with these keys.
    pub fn remove(keys: impl IntoIterator<Item = K>) -> Self {
        Self::Remove(keys.into_iter().collect())
    }

    fn log(&self) -> Result<Op, CodecError>
    where
        K: Serialize,
        V: Serialize,
    {
        Ok(match self {
            Self::Put(entries) => Op::MapPut(Json::encode(&Entries(entries))?),
            Self::Remove(keys) => {
                let keys: Vec<(&K, ())> = keys.iter().map(|key| (key, ())).collect();
                Op::MapRemove(Json::encode(&Entries(&keys))?)
            }
        })
    }

    fn replay(op: &Op) -> Result<Self, CodecError>
    where
        K: DeserializeOwned,
        V: DeserializeOwned,
    {
        Ok(match op {
            Op::MapPut(entries) => Self::Put(entries.decode::<Pairs<K, V>>()?.0),
            Op::MapRemove(keys) => {
                Self::Remove(keys.decode::<Pairs<K, ()>>()?.0.into_iter().map(|(key, ())| key).collect())
            }
            other => return Err(unknown_operation(other)),
        })
    }
}

impl<K, V> Reducer<BTreeMap<K, V>> for Merge
where
    K: Serialize + DeserializeOwned + Ord + Send + 'static,
    V: Serialize + DeserializeOwned + Send + 'static,
{
    type Write = MapWrite<K, V>;

    fn reduce(current: &mut BTreeMap<K, V>, write: MapWrite<K, V>) {
        match write {
            MapWrite::Put(entries) => current.extend(entries),
            MapWrite::Remove(keys) => keys.iter().for_each(|key| drop(current.remove(key))),
        }
    }

    fn log(write: &MapWrite<K, V>) -> Result<Option<Op>, CodecError> {
        write.log().map(Some)
    }

    fn replay(op: &Op) -> Result<MapWrite<K, V>, CodecError> {
        MapWrite::replay(op)
    }
}

#[cfg(feature = "std")]
impl<K, V, H> Reducer<HashMap<K, V, H>> for Merge
where
    K: Serialize + DeserializeOwned + Eq + core::hash::Hash + Send + 'static,
    V: Serialize + DeserializeOwned + Send + 'static,
    H: core::hash::BuildHasher,
{
    type Write = MapWrite<K, V>;

    fn reduce(current: &mut HashMap<K, V, H>, write: MapWrite<K, V>) {
        match write {
            MapWrite::Put(entries) => current.extend(entries),
            MapWrite::Remove(keys) => keys.iter().for_each(|key| drop(current.remove(key))),
        }
    }

    fn log(write: &MapWrite<K, V>) -> Result<Option<Op>, CodecError> {
        write.log().map(Some)
    }

    fn replay(op: &Op) -> Result<MapWrite<K, V>, CodecError> {
        MapWrite::replay(op)
    }
}

impl<K, V> IntoWrite<MapWrite<K, V>> for BTreeMap<K, V> {
    fn into_write(self) -> MapWrite<K, V> {
        MapWrite::Put(self.into_iter().collect())
    }
}

#[cfg(feature = "std")]
impl<K, V, H> IntoWrite<MapWrite<K, V>> for HashMap<K, V, H> {
    fn into_write(self) -> MapWrite<K, V> {
        MapWrite::Put(self.into_iter().collect())
    }
}

impl<A, B, K, V, const N: usize> IntoWrite<MapWrite<K, V>> for [(A, B); N]
where
    A: IntoWrite<K>,
    B: IntoWrite<V>,
{
    fn into_write(self) -> MapWrite<K, V> {
        MapWrite::Put(self.into_iter().map(|(key, value)| (key.into_write(), value.into_write())).collect())
    }
}

/// Pairs written as a JSON object.
struct Entries<'a, K, V>(&'a [(K, V)]);

impl<K: Serialize, V: Serialize> Serialize for Entries<'_, K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Pairs read from a JSON object, in its order.
struct Pairs<K, V>(Vec<(K, V)>);

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Pairs<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<K, V>(PhantomData<(K, V)>);
        impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Reader<K, V> {
            type Value = Pairs<K, V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

impl<K: Serialize, V: Serialize> Serialize for MapWrite<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.log().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de, K: DeserializeOwned, V: DeserializeOwned> Deserialize<'de> for MapWrite<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::replay(&Op::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
