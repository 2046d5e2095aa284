//! The state without its type, as the engine uses it: field ids and operations.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;

use super::dynamic::JsonError;
use super::indexes::Indexes;
use super::json::{CodecError, Json};
use super::migration::{self, LoadError};
use super::op::{FieldValue, LoggedWrite};
use super::schema::{FieldId, Schema};
use super::write::WriteKind;
use super::{FieldWrite, State, StateUpdate};

/// A state without its type. Implemented for every [`State`].
pub trait ErasedState: Any + Send + Sync {
    /// Returns a copy to write into, for use while a snapshot of this state is still shared.
    fn duplicate(&self) -> Arc<dyn ErasedState>;

    /// Builds the state from stored values with the schema `stored`. `own` is the schema of this state; fields
    /// without a stored value keep the value of this state. Values of an older version are migrated.
    ///
    /// # Errors
    /// Returns an error if a value does not decode, if a newer version wrote the values, or if no migration leads
    /// to this version.
    fn load(
        &self,
        own: &Schema,
        stored: &Schema,
        values: &[FieldValue],
    ) -> Result<Arc<dyn ErasedState>, LoadError>;

    /// Returns the older versions from which migrations lead to this state, oldest first.
    fn older_versions(&self) -> Vec<u32>;

    /// Applies the writes of `update` for whose positions `keep` returns `true`. `indexes` are those of this state.
    ///
    /// # Panics
    /// Panics if `update` belongs to another state type.
    fn apply(&mut self, indexes: &mut Indexes, update: Box<dyn ErasedUpdate>, keep: &dyn Fn(usize) -> bool);

    /// Decodes a stored update of this state.
    ///
    /// # Errors
    /// Returns an error if a logged write does not fit its field.
    fn decode_update(&self, writes: &[LoggedWrite]) -> Result<Box<dyn ErasedUpdate>, CodecError>;

    /// Returns the JSON Schema: see [`State::json_schema`].
    fn json_schema(&self) -> Option<Json>;

    /// Creates an update from JSON: see [`State::update_from`].
    ///
    /// # Errors
    /// See there.
    fn update_from(&self, values: &serde_json::Value) -> Result<Box<dyn ErasedUpdate>, JsonError>;

    /// See [`State::encode_field`].
    ///
    /// # Errors
    /// Returns the errors of that method.
    fn encode_field(&self, field: FieldId) -> Result<Json, CodecError>;

    /// See [`State::decode_field`].
    ///
    /// # Errors
    /// Returns the errors of that method.
    fn decode_field(&mut self, field: FieldId, value: &Json) -> Result<(), CodecError>;

    /// See [`State::reset_field`].
    fn reset_field(&mut self, field: FieldId);

    /// See [`State::copy_field`].
    ///
    /// # Panics
    /// Panics if `from` has another type.
    fn copy_field(&mut self, field: FieldId, from: &dyn ErasedState);
}

/// An update without its type. Implemented for every [`StateUpdate`].
pub trait ErasedUpdate: Any + Send {
    /// Returns the number of writes.
    fn len(&self) -> usize;

    /// Returns `true` if the update writes no field.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the field and kind of the write at `index`.
    fn shape(&self, index: usize) -> (FieldId, WriteKind);

    /// Returns a copy, including fields that are not stored.
    ///
    /// # Errors
    /// Returns an error if the value of a stored field does not survive its JSON form.
    fn duplicate(&self) -> Result<Box<dyn ErasedUpdate>, CodecError>;

    /// Returns the logged form, without the fields that are not stored.
    ///
    /// # Errors
    /// Returns an error if a value has no JSON form.
    fn encode(&self) -> Result<Vec<LoggedWrite>, CodecError>;
}

impl<S: State> ErasedState for S {
    fn duplicate(&self) -> Arc<dyn ErasedState> {
        Arc::new(self.clone())
    }

    fn load(
        &self,
        own: &Schema,
        stored: &Schema,
        values: &[FieldValue],
    ) -> Result<Arc<dyn ErasedState>, LoadError> {
        Ok(Arc::new(migration::load(self.clone(), own, stored, values)?))
    }

    fn older_versions(&self) -> Vec<u32> {
        migration::versions::<S>()
    }

    fn apply(&mut self, indexes: &mut Indexes, update: Box<dyn ErasedUpdate>, keep: &dyn Fn(usize) -> bool) {
        let update: Box<dyn Any> = update;
        let update = update.downcast::<S::Update>().expect("a node's update is of its graph's state");
        for (index, write) in update.into_writes().into_iter().enumerate() {
            if keep(index) {
                write.apply_with(self, indexes);
            }
        }
    }

    fn decode_update(&self, writes: &[LoggedWrite]) -> Result<Box<dyn ErasedUpdate>, CodecError> {
        let writes = writes.iter().map(S::Write::decode).collect::<Result<_, _>>()?;
        Ok(Box::new(S::Update::from_writes(writes)))
    }

    fn json_schema(&self) -> Option<Json> {
        State::json_schema(self)
    }

    fn update_from(&self, values: &serde_json::Value) -> Result<Box<dyn ErasedUpdate>, JsonError> {
        Ok(Box::new(State::update_from(self, values)?))
    }

    fn encode_field(&self, field: FieldId) -> Result<Json, CodecError> {
        State::encode_field(self, field)
    }

    fn decode_field(&mut self, field: FieldId, value: &Json) -> Result<(), CodecError> {
        State::decode_field(self, field, value)
    }

    fn reset_field(&mut self, field: FieldId) {
        State::reset_field(self, field);
    }

    fn copy_field(&mut self, field: FieldId, from: &dyn ErasedState) {
        let from: &dyn Any = from;
        let from = from.downcast_ref().expect("a copy is of the type of its original");
        State::copy_field(self, field, from);
    }
}

impl<U: StateUpdate> ErasedUpdate for U {
    fn len(&self) -> usize {
        self.writes().len()
    }

    fn shape(&self, index: usize) -> (FieldId, WriteKind) {
        let write = &self.writes()[index];
        (write.field(), write.kind())
    }

    fn duplicate(&self) -> Result<Box<dyn ErasedUpdate>, CodecError> {
        let writes = self.writes().iter().map(FieldWrite::duplicate);
        Ok(Box::new(U::from_writes(writes.collect::<Result<_, _>>()?)))
    }

    fn encode(&self) -> Result<Vec<LoggedWrite>, CodecError> {
        let mut logged = Vec::with_capacity(self.writes().len());
        for write in self.writes() {
            let named =
                |error: CodecError| match <U::State as State>::schema().fields.get(write.field().index()) {
                    Some(field) => error.within(format_args!("field {:?}", field.name)),
                    None => error,
                };
            logged.extend(write.encode().map_err(named)?);
        }
        Ok(logged)
    }
}
