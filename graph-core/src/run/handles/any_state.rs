//! States without their type.

use std::any::Any;
use std::boxed::Box;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::run::runtime::redact;
use crate::state::{
    CodecError, ErasedState, ErasedUpdate, Input, IntoInput, Misfit, ReadInput, Schema, State, StateForm,
    sealed,
};

/// A state without its type.
#[derive(Clone)]
pub struct AnyState {
    state: Arc<dyn ErasedState>,
    schema: Arc<Schema>,
}

impl AnyState {
    /// Returns the state as an object by field name. Fields that are never stored are left out, and secret ones are
    /// `"<secret>"`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let state = redact::state(&*self.state, &self.schema);
        state.decode().expect("an object of JSON values decodes as one")
    }

    /// Returns the state as its own type.
    ///
    /// # Errors
    /// Returns the state unchanged if it has another type.
    pub fn downcast<S: State>(self) -> Result<S, Self> {
        let state: &dyn Any = &*self.state;
        match state.is::<S>() {
            true => Ok(Arc::unwrap_or_clone(S::read(self.state, &self.schema))),
            false => Err(self),
        }
    }
}

impl sealed::Sealed for AnyState {}

impl StateForm for AnyState {
    type Update = Value;
    type Finished = Self;

    fn read(state: Arc<dyn ErasedState>, schema: &Arc<Schema>) -> Arc<Self> {
        Arc::new(Self { state, schema: Arc::clone(schema) })
    }

    fn owned(state: Arc<Self>) -> Self {
        Arc::unwrap_or_clone(state)
    }

    fn write(
        update: Value,
        initial: &dyn ErasedState,
        input: Option<ReadInput>,
    ) -> Result<Box<dyn ErasedUpdate>, Misfit> {
        let update = match input {
            Some(read) => read(update).map_err(Misfit::Json)?,
            None => update,
        };
        initial.update_from(&update).map_err(Misfit::Json)
    }

    fn finished(self) -> Result<Self, CodecError> {
        Ok(self)
    }
}

/// An input as an object of fields, each of which is written through its reducer. For a flow, the value is its
/// input.
impl IntoInput<AnyState> for Value {
    fn into_input(self) -> Input<AnyState> {
        Input::Update(self)
    }
}

impl fmt::Debug for AnyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyState").field("schema", &self.schema.name).finish_non_exhaustive()
    }
}
