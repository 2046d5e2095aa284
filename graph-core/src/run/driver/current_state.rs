//! The state that the driver owns.

use std::ops::Deref;
use std::sync::Arc;

use crate::state::{ErasedState, Indexes};

/// The state as of the last barrier, with the indexes of its keyed lists.
pub(crate) struct CurrentState {
    state: Arc<dyn ErasedState>,
    indexes: Indexes,
}

impl CurrentState {
    pub(crate) fn new(state: Arc<dyn ErasedState>) -> Self {
        Self { state, indexes: Indexes::default() }
    }

    /// Returns a snapshot of the state.
    pub(crate) fn share(&self) -> Arc<dyn ErasedState> {
        Arc::clone(&self.state)
    }

    /// Returns the state and its indexes for writing. If a snapshot is still in use, the state is copied first, so
    /// that the snapshot does not change.
    pub(crate) fn writable(&mut self) -> (&mut dyn ErasedState, &mut Indexes) {
        if Arc::strong_count(&self.state) > 1 {
            self.state = self.state.duplicate();
        }
        let state = Arc::get_mut(&mut self.state).expect("a state without snapshots");
        (state, &mut self.indexes)
    }
}

impl Deref for CurrentState {
    type Target = dyn ErasedState;

    fn deref(&self) -> &(dyn ErasedState + 'static) {
        &*self.state
    }
}
