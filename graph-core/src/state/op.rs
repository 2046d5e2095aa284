//! Logged operations: the effect of a write on a field, in a closed set that readers can apply without user code.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::json::Json;
use super::schema::FieldId;

/// One logged operation on one field.
///
/// The set is closed: a reader of a checkpoint file can rebuild every value from the operations, without the
/// program's types and without running a reducer. Each variant contains its operand as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Op {
    /// Replaces the field's value.
    Set(Json),
    /// Adds these items (an array) to the end of a list.
    Extend(Json),
    /// Puts these entries (an object) into a map, replacing the values of existing keys.
    MapPut(Json),
    /// Removes the entries with the keys of this object (whose values are null) from a map.
    MapRemove(Json),
    /// Adds these items (an array) to a set.
    SetAdd(Json),
    /// Removes these items (an array) from a set.
    SetRemove(Json),
    /// Puts or removes items of a list by id: an array of `{"id", "item"}` (replaces the item, or appends a new
    /// one) and `{"id"}` (removes the item).
    Keyed(Json),
}

impl Op {
    /// Returns the operand.
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

    /// Returns the operation's stored name.
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

    /// Returns `true` if the operation sets the whole value, so that earlier operations no longer matter.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Set(_))
    }
}

/// One write of a task, in the form stored in a checkpoint's task record or a pending write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LoggedWrite {
    /// The written field.
    pub field: FieldId,
    /// The write.
    pub write: Logged,
}

/// The two forms of a logged write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Logged {
    /// An operation, which alone determines the field's new value. An [`Op::Set`] is an overwrite.
    Op(Op),
    /// The argument of a reducer without an operation of its own, such as the addend of a sum. The result is stored
    /// in the field's version as [`Op::Set`].
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
