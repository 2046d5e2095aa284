//! Updates of a JSON state: writes that are their own logged form.

use alloc::vec::Vec;
use core::fmt;

use super::state::JsonState;
use crate::state::{
    CodecError, FieldId, FieldWrite, Indexes, Input, IntoInput, Logged, LoggedWrite, Op, State, StateUpdate,
    WriteKind,
};

/// A list of writes to the fields of a [`JsonState`], created and checked by
/// [`JsonFields::update`](super::JsonFields::update).
#[derive(Clone, Default, PartialEq)]
pub struct JsonUpdate {
    writes: Vec<JsonWrite>,
}

impl JsonUpdate {
    pub(super) fn of(writes: Vec<JsonWrite>) -> Self {
        Self { writes }
    }

    /// Combines this update with `other`, which is applied after it.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.writes.extend(other.writes);
        self
    }
}

impl StateUpdate for JsonUpdate {
    type State = JsonState;

    fn from_writes(writes: Vec<JsonWrite>) -> Self {
        Self { writes }
    }

    fn writes(&self) -> &[JsonWrite] {
        &self.writes
    }

    fn into_writes(self) -> Vec<JsonWrite> {
        self.writes
    }
}

impl IntoInput<JsonState> for JsonUpdate {
    fn into_input(self) -> Input<JsonState> {
        Input::Update(self)
    }
}

impl IntoInput<JsonState> for JsonState {
    fn into_input(self) -> Input<JsonState> {
        Input::State(self.overwrite())
    }
}

/// Formats the names of the written fields without the values, which may be secret.
impl fmt::Debug for JsonUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.writes.iter().map(|write| write.field.0);
        f.write_str("JsonUpdate ")?;
        f.debug_list().entries(fields).finish()
    }
}

/// One write to one field of a [`JsonState`].
#[derive(Clone, PartialEq, Debug)]
pub struct JsonWrite {
    pub(super) field: FieldId,
    pub(super) write: Logged,
    /// `true` if the field is stored.
    pub(super) stored: bool,
}

impl FieldWrite for JsonWrite {
    type State = JsonState;

    fn field(&self) -> FieldId {
        self.field
    }

    fn kind(&self) -> WriteKind {
        match self.write {
            Logged::Op(Op::Set(_)) => WriteKind::Overwrite,
            _ => WriteKind::Reduce,
        }
    }

    fn apply_with(self, state: &mut JsonState, indexes: &mut Indexes) {
        state.apply(self.field, &self.write, indexes.of(self.field));
    }

    fn duplicate(&self) -> Result<Self, CodecError> {
        Ok(self.clone())
    }

    fn encode(&self) -> Result<Option<LoggedWrite>, CodecError> {
        Ok(self.stored.then(|| LoggedWrite { field: self.field, write: self.write.clone() }))
    }

    fn decode(logged: &LoggedWrite) -> Result<Self, CodecError> {
        Ok(Self { field: logged.field, write: logged.write.clone(), stored: true })
    }
}
