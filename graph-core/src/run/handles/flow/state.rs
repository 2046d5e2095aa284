//! The state of a flow.

use std::boxed::Box;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::stored::FlowState as Stored;
use crate::state::{
    CodecError, ErasedState, ErasedUpdate, Input, IntoInput, Json, Misfit, ReadInput, Schema, StateForm,
    sealed,
};

pub(super) mod stored {
    use crate::state::{Json, State};

    /// The stored fields of a flow's thread. The store also contains the journal of effects and the questions, as
    /// for any node.
    #[derive(State, Clone, Debug, Default, PartialEq)]
    pub(in crate::run::handles) struct FlowState {
        pub(in crate::run::handles) input: Option<Json>,
        pub(in crate::run::handles) returned: Option<Json>,
        /// The value that the latest finished run saved for the next run; by default its return value.
        pub(in crate::run::handles) saved: Option<Json>,
    }
}

/// The state of a thread of a [flow](super::flow) from `I` to `O`: its input, its return value and its saved value.
pub struct FlowState<I, O> {
    stored: Arc<Stored>,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> FlowState<I, O> {
    /// Returns the input of the latest run; `None` also for JSON's `null`.
    #[must_use]
    pub fn input(&self) -> Option<&Json> {
        self.stored.input.as_ref()
    }

    /// Returns the return value of the latest finished run; `None` also for `null`.
    #[must_use]
    pub fn returned(&self) -> Option<&Json> {
        self.stored.returned.as_ref()
    }

    /// Returns the value that the latest finished run saved for the next run; `None` also for `null`.
    #[must_use]
    pub fn saved(&self) -> Option<&Json> {
        self.stored.saved.as_ref()
    }
}

impl<I, O> sealed::Sealed for FlowState<I, O> {}

impl<I: 'static, O: DeserializeOwned + 'static> StateForm for FlowState<I, O> {
    /// The input of a run. An edit replaces it.
    type Update = Result<Json, CodecError>;
    type Finished = O;

    fn read(state: Arc<dyn ErasedState>, schema: &Arc<Schema>) -> Arc<Self> {
        Arc::new(Self { stored: Stored::read(state, schema), types: PhantomData })
    }

    fn owned(state: Arc<Self>) -> Self {
        Arc::unwrap_or_clone(state)
    }

    fn write(
        input: Self::Update,
        _: &dyn ErasedState,
        _: Option<ReadInput>,
    ) -> Result<Box<dyn ErasedUpdate>, Misfit> {
        Ok(Box::new(Stored::update().input(input.map_err(Misfit::Codec)?)))
    }

    fn finished(self) -> Result<O, CodecError> {
        self.returned().unwrap_or(&Json::null()).decode()
    }
}

/// The input of a flow. An input without a JSON form fails the run, not the call.
impl<I: Serialize + 'static, O: DeserializeOwned + 'static> IntoInput<FlowState<I, O>> for &I {
    fn into_input(self) -> Input<FlowState<I, O>> {
        Input::Update(Json::encode(self))
    }
}

impl<I, O> Clone for FlowState<I, O> {
    fn clone(&self) -> Self {
        Self { stored: Arc::clone(&self.stored), types: PhantomData }
    }
}

impl<I, O> PartialEq for FlowState<I, O> {
    fn eq(&self, other: &Self) -> bool {
        self.stored == other.stored
    }
}

impl<I, O> fmt::Debug for FlowState<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stored.fmt(f)
    }
}
