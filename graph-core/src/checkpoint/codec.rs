//! Folds operations into values, and computes the digests of checkpoints.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::Checkpoint;
use crate::state::limits::Shape;
use crate::state::{CodecError, Excess, Json, Op, SizeLimits};

/// Folds the operations of one field, oldest first, into its value.
///
/// It works on JSON text: no user code runs, and items that no operation touches are never parsed. Items that are
/// only added to a list are not even scanned.
///
/// The value must stay within the [`SizeLimits`], so a chain of operations that doubles it at each step ends early.
#[derive(Debug, Default)]
pub struct Fold {
    value: Value,
    limits: SizeLimits,
    /// An upper bound of the bytes held, for a value that is not one text.
    held: usize,
    /// The expected size of a list, in bytes.
    room: usize,
}

#[derive(Debug, Default)]
enum Value {
    #[default]
    Unwritten,
    Whole(Json),
    /// A list to which items were added: its text without the closing bracket.
    Open(String, Shape),
    List(Vec<Box<RawValue>>),
    Keyed(Indexed),
    Set(Indexed),
    Map(BTreeMap<String, Box<RawValue>>),
}

/// Items that are found by a key: the id of a keyed list's item, or the text of a set's item. With it, a long log
/// of puts folds in one pass.
#[derive(Debug, Default)]
struct Indexed {
    /// The items in order; `None` for a removed item.
    items: Vec<Option<Box<RawValue>>>,
    places: BTreeMap<String, SmallVec<[usize; 2]>>,
}

impl Indexed {
    fn push(&mut self, key: String, item: Box<RawValue>) {
        self.places.entry(key).or_default().push(self.items.len());
        self.items.push(Some(item));
    }

    fn put(&mut self, key: String, item: Box<RawValue>) {
        // A list set with `Set` may contain an id twice. The last item is replaced, as in the reducer.
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

    /// Closes the gaps of removed items, once most of the list consists of gaps.
    fn close_gaps(&mut self) {
        const FEW: usize = 1024;
        if self.items.len() <= FEW.max(3 * self.places.len()) {
            return;
        }
        let mut held = 0;
        let mut after = Vec::with_capacity(self.items.len());
        for item in &self.items {
            after.push(held);
            held += usize::from(item.is_some());
        }
        self.places.values_mut().flatten().for_each(|place| *place = after[*place]);
        self.items.retain(Option::is_some);
    }

    fn into_items(self) -> Vec<Box<RawValue>> {
        self.items.into_iter().flatten().collect()
    }
}

impl Value {
    /// Returns the number of items or entries that are held separately; `None` if the value is held as one text.
    fn pieces(&self) -> Option<usize> {
        match self {
            Self::Unwritten | Self::Whole(_) | Self::Open(..) => None,
            Self::List(items) => Some(items.len()),
            Self::Keyed(indexed) | Self::Set(indexed) => Some(indexed.places.len()),
            Self::Map(entries) => Some(entries.len()),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Unwritten => 0,
            Self::Whole(value) => value.as_str().len(),
            Self::Open(list, _) => list.len(),
            Self::List(items) => items.iter().map(|item| item.get().len() + 1).sum(),
            Self::Keyed(indexed) | Self::Set(indexed) => {
                indexed.items.iter().flatten().map(|item| item.get().len() + 1).sum()
            }
            Self::Map(entries) => entries.iter().map(|(key, value)| key.len() + value.get().len() + 4).sum(),
        }
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
    /// Creates the fold of a field that was never written.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a fold with these size limits.
    #[must_use]
    pub fn within(limits: SizeLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Reserves space for a list to which about `bytes` bytes are added, so that it is not moved while it grows.
    #[must_use]
    pub fn with_room(self, bytes: usize) -> Self {
        Self { room: bytes.min(self.limits.most_bytes()), ..self }
    }

    /// Applies the next operation.
    ///
    /// # Errors
    /// Returns an error if the operand, or the value so far, does not have the form that the operation needs, or if
    /// the value exceeds the limits.
    pub fn apply(&mut self, op: &Op) -> Result<(), CodecError> {
        let bytes = op.operand().as_str().len();
        self.check_bytes(bytes)?;
        match op {
            Op::Set(value) => self.value = Value::Whole(value.clone()),
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
            Op::MapPut(entries) => {
                let most = self.limits.most_values();
                put_all(entries, self.map()?, most)?;
            }
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
        self.grow(bytes)
    }

    /// Counts an operation of `bytes` bytes on a value that is held in pieces. The value may be much smaller than
    /// the sum of its operations, so the pieces are measured only when the operations since the last measurement
    /// add up to at least the size limit.
    fn grow(&mut self, bytes: usize) -> Result<(), CodecError> {
        if let Value::Keyed(indexed) | Value::Set(indexed) = &mut self.value {
            indexed.close_gaps();
        }
        let Some(pieces) = self.value.pieces() else {
            self.held = 0;
            return Ok(());
        };
        if pieces > self.limits.most_values() {
            return Err(Excess::Values(self.limits.most_values()).into());
        }
        self.held = self.held.saturating_add(bytes);
        if self.held / 2 > self.limits.most_bytes() {
            self.held = self.value.bytes();
            self.check_bytes(self.held)?;
        }
        Ok(())
    }

    fn check_bytes(&self, bytes: usize) -> Result<(), CodecError> {
        if bytes > self.limits.most_bytes() {
            return Err(Excess::Bytes(self.limits.most_bytes()).into());
        }
        Ok(())
    }

    /// Adds items to the end of a list, given as the text between the brackets of one array or of several, with commas
    /// between those. The text is not checked: the caller knows that it is valid, for example from a checksum. With an
    /// invalid text, the value does not decode.
    ///
    /// # Errors
    /// Returns an error if the value so far is not a list, or exceeds the limits.
    pub fn extend(&mut self, items: &str) -> Result<(), CodecError> {
        let held = match &self.value {
            Value::Open(list, _) => list.len(),
            Value::Whole(value) => value.as_str().len(),
            _ => 0,
        };
        self.check_bytes(held.saturating_add(items.len()))?;
        match &mut self.value {
            Value::Open(list, shape) => {
                if list.len() > 1 && !items.is_empty() {
                    list.push(',');
                }
                list.push_str(items);
                *shape = shape.beside(Shape::at_most(items));
            }
            Value::Unwritten => self.value = opened(items, self.room),
            Value::Whole(value) => {
                self.value = opened(between_brackets(value)?, self.room);
                return self.extend(items);
            }
            _ => {
                let items: Vec<Box<RawValue>> = Json::closed(format!("[{items}")).decode()?;
                self.list()?.extend(items);
            }
        }
        Ok(())
    }

    /// Returns the value; `None` for a field that was never written.
    ///
    /// # Errors
    /// Returns an error if the value exceeds the limits.
    pub fn finish(self) -> Result<Option<Json>, CodecError> {
        let value = match self.value {
            Value::Unwritten => return Ok(None),
            Value::Whole(value) => value,
            Value::Open(list, items) => {
                let value = Json::closed(list);
                self.limits.check_shape(value.as_str(), items.within_list())?;
                return Ok(Some(value));
            }
            Value::List(items) => Json::put_together(&items)?,
            Value::Keyed(indexed) | Value::Set(indexed) => Json::put_together(&indexed.into_items())?,
            Value::Map(entries) => Json::put_together(&entries)?,
        };
        self.limits.check(value.as_str())?;
        Ok(Some(value))
    }

    fn list(&mut self) -> Result<&mut Vec<Box<RawValue>>, CodecError> {
        match &mut self.value {
            Value::List(_) => {}
            Value::Unwritten => self.value = Value::List(Vec::new()),
            Value::Whole(value) => {
                self.limits.check(value.as_str())?;
                self.value = Value::List(value.decode()?);
            }
            Value::Open(list, _) => {
                self.limits.check(list)?;
                self.value = Value::List(Json::closed(core::mem::take(list)).decode()?);
            }
            Value::Keyed(indexed) | Value::Set(indexed) => {
                self.value = Value::List(core::mem::take(indexed).into_items());
            }
            Value::Map(_) => return Err(CodecError::new("a list operation follows a map operation")),
        }
        match &mut self.value {
            Value::List(items) => Ok(items),
            _ => unreachable!("made a list above"),
        }
    }

    fn keyed(&mut self) -> Result<&mut Indexed, CodecError> {
        if !matches!(self.value, Value::Keyed(_)) {
            let mut indexed = Indexed::default();
            for item in core::mem::take(self.list()?) {
                let Id { id } = serde_json::from_str(item.get())
                    .map_err(|_| CodecError::new("an item of a keyed list has no text member `id`"))?;
                indexed.push(id, item);
            }
            self.value = Value::Keyed(indexed);
        }
        match &mut self.value {
            Value::Keyed(indexed) => Ok(indexed),
            _ => unreachable!("made a keyed list above"),
        }
    }

    fn set(&mut self) -> Result<&mut Indexed, CodecError> {
        if !matches!(self.value, Value::Set(_)) {
            let mut indexed = Indexed::default();
            for item in core::mem::take(self.list()?) {
                indexed.push(item.get().into(), item);
            }
            self.value = Value::Set(indexed);
        }
        match &mut self.value {
            Value::Set(indexed) => Ok(indexed),
            _ => unreachable!("made a set above"),
        }
    }

    fn map(&mut self) -> Result<&mut BTreeMap<String, Box<RawValue>>, CodecError> {
        match &mut self.value {
            Value::Map(_) => {}
            Value::Unwritten => self.value = Value::Map(BTreeMap::new()),
            Value::Whole(value) => {
                self.limits.check(value.as_str())?;
                self.value = Value::Map(value.decode()?);
            }
            Value::Open(..) | Value::List(_) | Value::Keyed(_) | Value::Set(_) => {
                return Err(CodecError::new("a map operation follows a list operation"));
            }
        }
        match &mut self.value {
            Value::Map(entries) => Ok(entries),
            _ => unreachable!("made a map above"),
        }
    }
}

/// Returns a list with these items, to which others will be added.
fn opened(items: &str, room: usize) -> Value {
    // The capacity includes brackets and commas, and a 16th more for items that were not counted.
    let mut list = String::with_capacity(items.len().max(room) + room / 16 + 2);
    list.push('[');
    list.push_str(items);
    Value::Open(list, Shape::at_most(items))
}

/// Puts the entries of an object into a map, without storing any entry twice.
fn put_all(entries: &Json, map: &mut BTreeMap<String, Box<RawValue>>, most: usize) -> Result<(), CodecError> {
    struct Entries<'m>(&'m mut BTreeMap<String, Box<RawValue>>, usize);

    impl<'de> Visitor<'de> for Entries<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the entries of a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
            while let Some((key, value)) = entries.next_entry()? {
                self.0.insert(key, value);
                if self.0.len() > self.1 {
                    return Err(A::Error::custom("there are too many"));
                }
            }
            Ok(())
        }
    }

    let put = serde_json::Deserializer::from_str(entries.as_str()).deserialize_map(Entries(map, most));
    put.map_err(|error| match map.len() > most {
        true => Excess::Values(most).into(),
        false => CodecError::new(error.to_string()),
    })
}

/// Returns the text between the brackets of an array.
fn between_brackets(array: &Json) -> Result<&str, CodecError> {
    let inner = array.as_str().trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.map(str::trim).ok_or_else(|| CodecError::new("a list operation meets a value that is no list"))
}

/// Returns `true` if two checkpoints have the same logical content, as covered by [`digest`].
#[cfg(feature = "std")]
pub(super) fn same_content(a: &Checkpoint, b: &Checkpoint) -> bool {
    a.parent == b.parent && a.step == b.step && a.changes == b.changes && a.frontier == b.frontier
}

/// Returns the digest of a checkpoint's logical content: parent, step, changes and frontier.
///
/// Equal digests with equal ids mean that a commit with an unknown outcome was stored. The ids and times of the run
/// that wrote the checkpoint are not part of the digest.
///
/// # Errors
/// Returns an error if the checkpoint cannot be encoded. Every valid checkpoint can.
pub fn digest(checkpoint: &Checkpoint) -> Result<[u8; 32], CodecError> {
    let content =
        Json::encode(&(&checkpoint.parent, checkpoint.step, &checkpoint.changes, &checkpoint.frontier))?;
    Ok(*blake3::hash(content.as_str().as_bytes()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of items are concatenated unchanged, and parsed only when an operation needs an item.
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

    /// The parts of a list are checked one by one, and the whole list only if they come close to a limit.
    #[test]
    fn a_list_of_several_parts_keeps_to_the_limits() {
        let folded = |parts: &[&str]| {
            let mut fold = Fold::within(SizeLimits::default().values(10));
            parts.iter().try_for_each(|part| fold.extend(part))?;
            fold.finish()
        };
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        folded(&["1,2,3", "4,5,6", "7,8,9"]).expect("it has ten values");
        folded(&["1", "\"[,[,[,[,[,[,[,[\""]).expect("what is in a text is no value");
        let excess = |parts: &[&str]| folded(parts).expect_err("it is too large").excess();
        assert_eq!(excess(&["1,2,3", "4,5,6", "7,8,9", "10"]), Some(Excess::Values(10)));
        assert_eq!(excess(&["1", &nested(128)]), Some(Excess::Depth(128)));
    }

    /// Each removed item used to leave a gap, so a list with many additions and removals took more and more memory,
    /// even if it was empty in the end.
    #[test]
    fn gaps_are_closed() {
        let json = |text: alloc::string::String| Json::parse(text).unwrap();
        let mut fold = Fold::new();
        fold.apply(&Op::Set(json(r#"[{"id":"a"},{"id":"b"},{"id":"a"}]"#.into()))).unwrap();
        for round in 0..5000 {
            let item = format!(r#"{{"id":"{round}","item":{{"id":"{round}"}}}}"#);
            fold.apply(&Op::Keyed(json(format!("[{item}]")))).unwrap();
            fold.apply(&Op::Keyed(json(format!(r#"[{{"id":"{round}"}}]"#)))).unwrap();
        }
        let Value::Keyed(indexed) = &fold.value else { panic!("{fold:?}") };
        assert!(indexed.items.len() < 1100, "{}", indexed.items.len());
        fold.apply(&Op::Keyed(json(r#"[{"id":"a","item":{"id":"a","n":1}}]"#.into()))).unwrap();
        let expected = r#"[{"id":"a"},{"id":"b"},{"id":"a","n":1}]"#;
        assert_eq!(fold.finish().unwrap(), Some(json(expected.into())));
    }

    /// For a list set with a duplicate id, the fold used to replace the first item and remove one, where the
    /// reducer replaces the last item and removes both.
    #[test]
    fn an_id_that_is_there_twice_is_folded_as_the_reducer_does() {
        let json = |text: &str| Json::parse(text).unwrap();
        let mut fold = Fold::new();
        fold.apply(&Op::Set(json(r#"[{"id":"a","n":1},{"id":"a","n":2}]"#))).unwrap();
        fold.apply(&Op::Keyed(json(r#"[{"id":"a","item":{"id":"a","n":3}}]"#))).unwrap();
        fold.apply(&Op::Extend(json(r#"[{"id":"b"}]"#))).unwrap();
        fold.apply(&Op::Keyed(json("[]"))).unwrap();
        let value = core::mem::take(&mut fold);
        let Value::Keyed(indexed) = &value.value else { panic!("{value:?}") };
        assert_eq!(indexed.items.len(), 3);
        assert_eq!(value.finish().unwrap(), Some(json(r#"[{"id":"a","n":1},{"id":"a","n":3},{"id":"b"}]"#)));

        fold.apply(&Op::Set(json(r#"[{"id":"a","n":1},{"id":"a","n":2}]"#))).unwrap();
        fold.apply(&Op::Keyed(json(r#"[{"id":"a"}]"#))).unwrap();
        assert_eq!(fold.finish().unwrap(), Some(json("[]")));
    }
}
