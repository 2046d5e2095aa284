//! The forms in which the handles of a graph accept and return its state.

use alloc::boxed::Box;
use alloc::sync::Arc;

use serde_json::Value;

use super::erased::{ErasedState, ErasedUpdate};
use super::{CodecError, JsonError, Schema, State, Update};

/// A form in which the handles of a graph accept and return its state: the state's own type, or a form of this
/// crate that any state has, such as [`AnyState`](crate::run::AnyState).
///
/// Every [`State`] is such a form. Other crates cannot add one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a graph state",
    note = "derive it: `#[derive(State, Clone, Default)] struct {Self} {{ .. }}`"
)]
pub trait StateForm: sealed::Sealed + Sized + Send + Sync + 'static {
    /// The update that an edit accepts.
    type Update: Send + 'static;
    /// The result of a finished run.
    type Finished;

    /// Converts the driver's state into this form, without copying it.
    #[doc(hidden)]
    fn read(state: Arc<dyn ErasedState>, schema: &Arc<Schema>) -> Arc<Self>;

    /// Returns the state by value. It is copied if it is shared.
    #[doc(hidden)]
    fn owned(state: Arc<Self>) -> Self;

    /// Creates the update of a graph with this initial state. `input` converts an input that is given as JSON.
    #[doc(hidden)]
    fn write(
        update: Self::Update,
        initial: &dyn ErasedState,
        input: Option<ReadInput>,
    ) -> Result<Box<dyn ErasedUpdate>, Misfit>;

    /// Returns the result of a finished run.
    #[doc(hidden)]
    fn finished(self) -> Result<Self::Finished, CodecError>;
}

/// Converts an input that is given as JSON into an object of fields.
#[doc(hidden)]
pub type ReadInput = fn(Value) -> Result<Value, JsonError>;

/// The reason why an input or an edit does not fit the graph.
#[doc(hidden)]
#[derive(Debug)]
pub enum Misfit {
    /// The value does not fit the state.
    Json(JsonError),
    /// The value has no JSON form.
    Codec(CodecError),
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

impl<S: State> sealed::Sealed for S {}

impl<S: State> StateForm for S {
    type Update = Update<S>;
    type Finished = S;

    fn read(state: Arc<dyn ErasedState>, _: &Arc<Schema>) -> Arc<Self> {
        let state: Arc<dyn core::any::Any + Send + Sync> = state;
        state.downcast::<S>().expect("the handle is one of this state's graph")
    }

    fn owned(state: Arc<Self>) -> Self {
        Arc::unwrap_or_clone(state)
    }

    fn write(
        update: Self::Update,
        _: &dyn ErasedState,
        _: Option<ReadInput>,
    ) -> Result<Box<dyn ErasedUpdate>, Misfit> {
        Ok(Box::new(update))
    }

    fn finished(self) -> Result<S, CodecError> {
        Ok(self)
    }
}
