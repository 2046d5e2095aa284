//! The reducer of lists whose items have ids, such as message histories.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Indexed, KeyedIndex, Reducer, unknown_operation};
use crate::state::{CodecError, IntoWrite, Json, Op};

/// An item with an id that is unique in its list.
pub trait Keyed {
    /// Returns the id.
    fn id(&self) -> &str;
}

/// Puts items into a list by id, or removes them. An item with an existing id replaces that item at its position; a
/// new one is added at the end.
///
/// A run keeps an index of the list, so that no search is needed to put an item.
#[derive(Clone, Copy, Debug)]
pub struct KeyedLog;

/// One edit of a [`KeyedLog`].
#[derive(Clone, Debug, PartialEq)]
pub enum LogEdit<T> {
    /// Replaces the item with the same id, or adds it at the end.
    Put(T),
    /// Removes the item with this id, if there is one.
    Remove(String),
}

/// A write through [`KeyedLog`]: edits that are applied in order. Setters also accept an item, a `Vec` or an array.
#[derive(Clone, Debug, PartialEq)]
pub struct LogWrite<T>(pub Vec<LogEdit<T>>);

impl<T> LogWrite<T> {
    /// Removes the items with these ids.
    pub fn remove<I: ToString>(ids: impl IntoIterator<Item = I>) -> Self {
        Self(ids.into_iter().map(|id| LogEdit::Remove(id.to_string())).collect())
    }
}

impl<T: Keyed> LogWrite<T> {
    /// Applies the edits to a list with this index.
    pub fn apply(self, list: &mut Vec<T>, index: &mut KeyedIndex) {
        for edit in self.0 {
            match edit {
                LogEdit::Put(item) => index.put(list, item),
                LogEdit::Remove(id) => index.remove(list, &id),
            }
        }
    }
}

impl<T> Reducer<Vec<T>> for KeyedLog
where
    T: Keyed + Send + 'static,
{
    type Write = LogWrite<T>;

    const INDEXED: Option<Indexed<Vec<T>, LogWrite<T>>> =
        Some(|current, write, index| write.apply(current, index));

    fn reduce(current: &mut Vec<T>, write: LogWrite<T>) {
        write.apply(current, &mut KeyedIndex::new());
    }

    fn log(write: &LogWrite<T>) -> Result<Option<Op>, CodecError>
    where
        LogWrite<T>: Serialize,
    {
        Ok(Some(Op::Keyed(Json::encode(write)?)))
    }

    fn replay(op: &Op) -> Result<LogWrite<T>, CodecError>
    where
        LogWrite<T>: DeserializeOwned,
    {
        match op {
            Op::Keyed(rows) => rows.decode(),
            other => Err(unknown_operation(other)),
        }
    }
}

/// An edit in its logged form, with the id beside the item, so that readers need not know the item's type.
#[derive(Serialize)]
struct RowRef<'a, T> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a T>,
}

impl<'a, T: Keyed> RowRef<'a, T> {
    fn of(edit: &'a LogEdit<T>) -> Self {
        match edit {
            LogEdit::Put(item) => Self { id: item.id(), item: Some(item) },
            LogEdit::Remove(id) => Self { id, item: None },
        }
    }
}

#[derive(Deserialize)]
struct Row<T> {
    id: String,
    #[serde(default = "Option::default")]
    item: Option<T>,
}

impl<T> Row<T> {
    fn edit(self) -> LogEdit<T> {
        match self.item {
            Some(item) => LogEdit::Put(item),
            None => LogEdit::Remove(self.id),
        }
    }
}

impl<T: Keyed> IntoWrite<LogWrite<T>> for T {
    fn into_write(self) -> LogWrite<T> {
        LogWrite(alloc::vec![LogEdit::Put(self)])
    }
}

impl<T> IntoWrite<LogWrite<T>> for Vec<T> {
    fn into_write(self) -> LogWrite<T> {
        LogWrite(self.into_iter().map(LogEdit::Put).collect())
    }
}

impl<T, const N: usize> IntoWrite<LogWrite<T>> for [T; N] {
    fn into_write(self) -> LogWrite<T> {
        LogWrite(self.into_iter().map(LogEdit::Put).collect())
    }
}

impl<T: Keyed + Serialize> Serialize for LogWrite<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(RowRef::of))
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for LogWrite<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Vec::<Row<T>>::deserialize(deserializer)?.into_iter().map(Row::edit).collect()))
    }
}
