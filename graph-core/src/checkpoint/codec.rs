//! From operations to values, and from checkpoints to digests.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::model::Checkpoint;
use crate::state::{CodecError, Json, Op};

/// Folds the operations of one field, oldest first, into its value.
///
/// Works on JSON text: no user code runs, and items that no operation touches are never parsed.
#[derive(Debug, Default)]
pub struct Fold(Value);

#[derive(Debug, Default)]
enum Value {
    #[default]
    Unwritten,
    Whole(Json),
    List(Vec<Box<RawValue>>),
    Keyed(Vec<(String, Box<RawValue>)>),
    Map(BTreeMap<String, Box<RawValue>>),
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
            Op::Extend(items) => self.list()?.extend(items.decode::<Vec<Box<RawValue>>>()?),
            Op::SetAdd(items) => {
                let list = self.list()?;
                for item in items.decode::<Vec<Box<RawValue>>>()? {
                    if !list.iter().any(|held| held.get() == item.get()) {
                        list.push(item);
                    }
                }
            }
            Op::SetRemove(items) => {
                let gone = items.decode::<Vec<Box<RawValue>>>()?;
                self.list()?
                    .retain(|held| !gone.iter().any(|item| item.get() == held.get()));
            }
            Op::MapPut(entries) => self
                .map()?
                .extend(entries.decode::<BTreeMap<String, Box<RawValue>>>()?),
            Op::MapRemove(keys) => {
                let map = self.map()?;
                for key in keys.decode::<BTreeMap<String, ()>>()?.keys() {
                    map.remove(key);
                }
            }
            Op::Keyed(rows) => {
                let list = self.keyed()?;
                for Row { id, item } in rows.decode::<Vec<Row>>()? {
                    match (item, list.iter().position(|(held, _)| *held == id)) {
                        (Some(item), Some(at)) => list[at].1 = item,
                        (Some(item), None) => list.push((id, item)),
                        (None, Some(at)) => drop(list.remove(at)),
                        (None, None) => {}
                    }
                }
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
            Value::List(items) => Json::encode(&items)?,
            Value::Keyed(items) => Json::encode(&items.iter().map(|(_, item)| item).collect::<Vec<_>>())?,
            Value::Map(entries) => Json::encode(&entries)?,
        }))
    }

    fn list(&mut self) -> Result<&mut Vec<Box<RawValue>>, CodecError> {
        match &mut self.0 {
            Value::List(_) => {}
            Value::Unwritten => self.0 = Value::List(Vec::new()),
            Value::Whole(value) => self.0 = Value::List(value.decode()?),
            Value::Keyed(items) => {
                self.0 = Value::List(core::mem::take(items).into_iter().map(|(_, item)| item).collect());
            }
            Value::Map(_) => return Err(CodecError::new("a list operation follows a map operation")),
        }
        match &mut self.0 {
            Value::List(items) => Ok(items),
            _ => unreachable!("made a list above"),
        }
    }

    fn keyed(&mut self) -> Result<&mut Vec<(String, Box<RawValue>)>, CodecError> {
        if !matches!(self.0, Value::Keyed(_)) {
            let items = core::mem::take(self.list()?);
            let keyed = items.into_iter().map(|item| {
                let Id { id } = serde_json::from_str(item.get())
                    .map_err(|_| CodecError::new("an item of a keyed list has no text member `id`"))?;
                Ok((id, item))
            });
            self.0 = Value::Keyed(keyed.collect::<Result<_, CodecError>>()?);
        }
        match &mut self.0 {
            Value::Keyed(items) => Ok(items),
            _ => unreachable!("made a keyed list above"),
        }
    }

    fn map(&mut self) -> Result<&mut BTreeMap<String, Box<RawValue>>, CodecError> {
        match &mut self.0 {
            Value::Map(_) => {}
            Value::Unwritten => self.0 = Value::Map(BTreeMap::new()),
            Value::Whole(value) => self.0 = Value::Map(value.decode()?),
            Value::List(_) | Value::Keyed(_) => {
                return Err(CodecError::new("a map operation follows a list operation"));
            }
        }
        match &mut self.0 {
            Value::Map(entries) => Ok(entries),
            _ => unreachable!("made a map above"),
        }
    }
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
    let content = Json::encode(&(
        &checkpoint.parent,
        checkpoint.step,
        &checkpoint.changes,
        &checkpoint.frontier,
    ))?;
    Ok(*blake3::hash(content.as_str().as_bytes()).as_bytes())
}
