//! From operations to values, and from checkpoints to digests.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::Checkpoint;
use crate::state::{CodecError, Json, Op};

/// Folds the operations of one field, oldest first, into its value.
///
/// Works on JSON text: no user code runs, and items that no operation touches are never parsed. Items that are only
/// added to a list are not even looked at.
#[derive(Debug, Default)]
pub struct Fold(Value);

#[derive(Debug, Default)]
enum Value {
    #[default]
    Unwritten,
    Whole(Json),
    /// A list to which items were added: its text, but for the bracket at the end.
    Open(String),
    List(Vec<Box<RawValue>>),
    Keyed(Indexed),
    Set(Indexed),
    Map(BTreeMap<String, Box<RawValue>>),
}

/// Items that are found by a key: the id of a keyed list's item, the text of a set's. So that a long log of
/// puts folds in one pass.
#[derive(Debug, Default)]
struct Indexed {
    /// In order; `None` where one was removed.
    items: Vec<Option<Box<RawValue>>>,
    places: BTreeMap<String, SmallVec<[usize; 2]>>,
}

impl Indexed {
    fn push(&mut self, key: String, item: Box<RawValue>) {
        self.places.entry(key).or_default().push(self.items.len());
        self.items.push(Some(item));
    }

    fn put(&mut self, key: String, item: Box<RawValue>) {
        // A list that a `Set` gave may hold an id twice: the last one is replaced, as the reducer does.
        match self.places.get(&key).and_then(|places| places.last()) {
            Some(place) => self.items[*place] = Some(item),
            None => self.push(key, item),
        }
    }

    fn remove(&mut self, key: &str) {
        for place in self.places.remove(key).into_iter().flatten() {
            self.items[place] = None;
        }
    }

    fn into_items(self) -> Vec<Box<RawValue>> {
        self.items.into_iter().flatten().collect()
    }
}

#[derive(Deserialize)]
struct Row {
    id: String,
    #[serde(default)]
    item: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

impl Fold {
    /// A field that was never written.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies the next operation.
    ///
    /// # Errors
    /// When the operand, or the value so far, has not the form that the operation needs.
    pub fn apply(&mut self, op: &Op) -> Result<(), CodecError> {
        match op {
            Op::Set(value) => self.0 = Value::Whole(value.clone()),
            Op::Extend(items) => self.extend(between_brackets(items)?)?,
            Op::SetAdd(items) => {
                let set = self.set()?;
                for item in items.decode::<Vec<Box<RawValue>>>()? {
                    if !set.places.contains_key(item.get()) {
                        set.push(item.get().into(), item);
                    }
                }
            }
            Op::SetRemove(items) => {
                let set = self.set()?;
                items.decode::<Vec<Box<RawValue>>>()?.iter().for_each(|item| set.remove(item.get()));
            }
            Op::MapPut(entries) => self.map()?.extend(entries.decode::<BTreeMap<String, Box<RawValue>>>()?),
            Op::MapRemove(keys) => {
                let map = self.map()?;
                for key in keys.decode::<BTreeMap<String, ()>>()?.keys() {
                    map.remove(key);
                }
            }
            Op::Keyed(rows) => {
                let list = self.keyed()?;
                for Row { id, item } in rows.decode::<Vec<Row>>()? {
                    match item {
                        Some(item) => list.put(id, item),
                        None => list.remove(&id),
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds items to the end of a list, given as the text between the brackets of one array or of several, with commas
    /// between those. The text is taken as it is: whoever gives it knows that it is such a text, from a checksum say.
    /// Of one that is not, the value does not decode.
    ///
    /// # Errors
    /// When the value so far is no list.
    pub fn extend(&mut self, items: &str) -> Result<(), CodecError> {
        match &mut self.0 {
            Value::Open(list) => {
                if list.len() > 1 && !items.is_empty() {
                    list.push(',');
                }
                list.push_str(items);
            }
            Value::Unwritten => self.0 = Value::Open(format!("[{items}")),
            Value::Whole(value) => {
                self.0 = Value::Open(format!("[{}", between_brackets(value)?));
                return self.extend(items);
            }
            _ => {
                let items: Vec<Box<RawValue>> = Json::closed(format!("[{items}")).decode()?;
                self.list()?.extend(items);
            }
        }
        Ok(())
    }

    /// The value; `None` for a field that was never written.
    ///
    /// # Errors
    /// When the value cannot be encoded again, which no valid operation causes.
    pub fn finish(self) -> Result<Option<Json>, CodecError> {
        Ok(Some(match self.0 {
            Value::Unwritten => return Ok(None),
            Value::Whole(value) => value,
            Value::Open(list) => Json::closed(list),
            Value::List(items) => Json::encode(&items)?,
            Value::Keyed(indexed) | Value::Set(indexed) => Json::encode(&indexed.into_items())?,
            Value::Map(entries) => Json::encode(&entries)?,
        }))
    }

    fn list(&mut self) -> Result<&mut Vec<Box<RawValue>>, CodecError> {
        match &mut self.0 {
            Value::List(_) => {}
            Value::Unwritten => self.0 = Value::List(Vec::new()),
            Value::Whole(value) => self.0 = Value::List(value.decode()?),
            Value::Open(list) => self.0 = Value::List(Json::closed(core::mem::take(list)).decode()?),
            Value::Keyed(indexed) | Value::Set(indexed) => {
                self.0 = Value::List(core::mem::take(indexed).into_items());
            }
            Value::Map(_) => return Err(CodecError::new("a list operation follows a map operation")),
        }
        match &mut self.0 {
            Value::List(items) => Ok(items),
            _ => unreachable!("made a list above"),
        }
    }

    fn keyed(&mut self) -> Result<&mut Indexed, CodecError> {
        if !matches!(self.0, Value::Keyed(_)) {
            let mut indexed = Indexed::default();
            for item in core::mem::take(self.list()?) {
                let Id { id } = serde_json::from_str(item.get())
                    .map_err(|_| CodecError::new("an item of a keyed list has no text member `id`"))?;
                indexed.push(id, item);
            }
            self.0 = Value::Keyed(indexed);
        }
        match &mut self.0 {
            Value::Keyed(indexed) => Ok(indexed),
            _ => unreachable!("made a keyed list above"),
        }
    }

    fn set(&mut self) -> Result<&mut Indexed, CodecError> {
        if !matches!(self.0, Value::Set(_)) {
            let mut indexed = Indexed::default();
            for item in core::mem::take(self.list()?) {
                indexed.push(item.get().into(), item);
            }
            self.0 = Value::Set(indexed);
        }
        match &mut self.0 {
            Value::Set(indexed) => Ok(indexed),
            _ => unreachable!("made a set above"),
        }
    }

    fn map(&mut self) -> Result<&mut BTreeMap<String, Box<RawValue>>, CodecError> {
        match &mut self.0 {
            Value::Map(_) => {}
            Value::Unwritten => self.0 = Value::Map(BTreeMap::new()),
            Value::Whole(value) => self.0 = Value::Map(value.decode()?),
            Value::Open(_) | Value::List(_) | Value::Keyed(_) | Value::Set(_) => {
                return Err(CodecError::new("a map operation follows a list operation"));
            }
        }
        match &mut self.0 {
            Value::Map(entries) => Ok(entries),
            _ => unreachable!("made a map above"),
        }
    }
}

/// The text between the brackets of an array.
fn between_brackets(array: &Json) -> Result<&str, CodecError> {
    let inner = array.as_str().trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.map(str::trim).ok_or_else(|| CodecError::new("a list operation meets a value that is no list"))
}

/// Whether two checkpoints have the same logical content: what [`digest`] covers.
#[cfg(feature = "std")]
pub(super) fn same_content(a: &Checkpoint, b: &Checkpoint) -> bool {
    a.parent == b.parent && a.step == b.step && a.changes == b.changes && a.frontier == b.frontier
}

/// The digest of a checkpoint's logical content: parent, step, changes and frontier.
///
/// Equal digests of equal ids mean that a commit whose outcome was unknown did land. The ids and times of the
/// run that wrote it do not count.
///
/// # Errors
/// When the checkpoint cannot be encoded, which no valid one causes.
pub fn digest(checkpoint: &Checkpoint) -> Result<[u8; 32], CodecError> {
    let content =
        Json::encode(&(&checkpoint.parent, checkpoint.step, &checkpoint.changes, &checkpoint.frontier))?;
    Ok(*blake3::hash(content.as_str().as_bytes()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of items are put together as they are, and parsed only once an operation looks at them.
    #[test]
    fn items_are_added_as_text() {
        let json = |text: &str| Json::parse(text).unwrap();
        let mut fold = Fold::new();
        fold.apply(&Op::Set(json("[ ]"))).unwrap();
        fold.apply(&Op::Extend(json("[1, [2]]"))).unwrap();
        fold.apply(&Op::Extend(json("[]"))).unwrap();
        fold.extend("\"a\",{}").unwrap();
        fold.extend("").unwrap();
        fold.apply(&Op::SetRemove(json("[[2]]"))).unwrap();
        fold.apply(&Op::Extend(json("[null]"))).unwrap();
        assert_eq!(fold.finish().unwrap(), Some(json("[1,\"a\",{},null]")));

        let mut empty = Fold::new();
        empty.apply(&Op::Extend(json("[]"))).unwrap();
        assert_eq!(empty.finish().unwrap(), Some(json("[]")));

        for (before, refused) in [(Op::Set(json("5")), json("[1]")), (Op::Set(json("[]")), json("{}"))] {
            let mut fold = Fold::new();
            fold.apply(&before).unwrap();
            fold.apply(&Op::Extend(refused)).unwrap_err();
        }
        let mut map = Fold::new();
        map.apply(&Op::MapPut(json("{}"))).unwrap();
        map.apply(&Op::Extend(json("[1]"))).unwrap_err();
    }

    /// The list came from a `Set` with an id twice; the fold replaced the first of the two and removed only
    /// one, where the reducer replaces the last and removes both.
    #[test]
    fn an_id_that_is_there_twice_is_folded_as_the_reducer_does() {
        let json = |text: &str| Json::parse(text).unwrap();
        let mut fold = Fold::new();
        fold.apply(&Op::Set(json(r#"[{"id":"a","n":1},{"id":"a","n":2}]"#))).unwrap();
        fold.apply(&Op::Keyed(json(r#"[{"id":"a","item":{"id":"a","n":3}}]"#))).unwrap();
        fold.apply(&Op::Extend(json(r#"[{"id":"b"}]"#))).unwrap();
        fold.apply(&Op::Keyed(json("[]"))).unwrap();
        let value = Fold(core::mem::take(&mut fold.0));
        let Value::Keyed(indexed) = &value.0 else { panic!("{value:?}") };
        assert_eq!(indexed.items.len(), 3);
        assert_eq!(value.finish().unwrap(), Some(json(r#"[{"id":"a","n":1},{"id":"a","n":3},{"id":"b"}]"#)));

        fold.apply(&Op::Set(json(r#"[{"id":"a","n":1},{"id":"a","n":2}]"#))).unwrap();
        fold.apply(&Op::Keyed(json(r#"[{"id":"a"}]"#))).unwrap();
        assert_eq!(fold.finish().unwrap(), Some(json("[]")));
    }
}
