//! Logged operations: what a write did to a field, in a closed set that readers fold without user code.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::json::Json;
use super::schema::FieldId;

/// One logged operation on one field.
///
/// The set is closed: a reader of a checkpoint file rebuilds every value from these alone, without the
/// program's types and without running a reducer. Each variant carries its operand as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Op {
    /// The field's value is now this.
    Set(Json),
    /// These items (an array) were added at the end of a list.
    Extend(Json),
    /// These entries (an object) were put into a map, replacing values of equal keys.
    MapPut(Json),
    /// The entries with the keys of this object (its values are null) were removed from a map.
    MapRemove(Json),
    /// These items (an array) were added to a set.
    SetAdd(Json),
    /// These items (an array) were removed from a set.
    SetRemove(Json),
    /// Items of a list were put or removed by id: an array of `{"id", "item"}` (put: replaced in place, or
    /// appended when new) and `{"id"}` (removed).
    Keyed(Json),
}

impl Op {
    /// The operand.
    #[must_use]
    pub fn operand(&self) -> &Json {
        match self {
            Self::Set(json)
            | Self::Extend(json)
            | Self::MapPut(json)
            | Self::MapRemove(json)
            | Self::SetAdd(json)
            | Self::SetRemove(json)
            | Self::Keyed(json) => json,
        }
    }

    /// The operation's stored name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Set(_) => "set",
            Self::Extend(_) => "extend",
            Self::MapPut(_) => "map_put",
            Self::MapRemove(_) => "map_remove",
            Self::SetAdd(_) => "set_add",
            Self::SetRemove(_) => "set_remove",
            Self::Keyed(_) => "keyed",
        }
    }

    /// Returns `true` if the operation gives the whole value, so that earlier operations no longer matter.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Set(_))
    }
}

/// One write of a task, as it is stored in a checkpoint's task record or a pending write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LoggedWrite {
    /// The field written.
    pub field: FieldId,
    /// The write.
    pub write: Logged,
}

/// The two forms of a logged write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Logged {
    /// An operation: it says by itself what happens to the field. An [`Op::Set`] is an overwrite.
    Op(Op),
    /// The argument of a reducer that has no operation of its own (a sum's addend, say). The field's
    /// version then holds the result as [`Op::Set`].
    Reduce(Json),
}

/// The change of one field in one superstep: its operations, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The field.
    pub field: FieldId,
    /// At least one operation; an [`Op::Set`] can only be the first.
    pub ops: Vec<Op>,
}

/// The value of one field, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldValue {
    /// The field.
    pub field: FieldId,
    /// Its value.
    pub value: Json,
}
