//! The state that a driver owns.

use std::ops::Deref;
use std::sync::Arc;
use std::vec::Vec;

use crate::state::{Change, ErasedState, FieldId, FieldValue, Indexes};

/// The state as of the last barrier, with the indexes of its keyed lists.
pub(crate) struct CurrentState {
    state: Arc<dyn ErasedState>,
    indexes: Indexes,
    sizes: Sizes,
    /// `true` if it contains writes that are not stored yet.
    is_ahead: bool,
}

impl CurrentState {
    pub(crate) fn new(state: Arc<dyn ErasedState>) -> Self {
        Self { state, indexes: Indexes::default(), sizes: Sizes::default(), is_ahead: false }
    }

    /// Wraps a state whose fields have these stored values.
    pub(crate) fn of(state: Arc<dyn ErasedState>, values: &[FieldValue]) -> Self {
        Self { sizes: Sizes::of(values), ..Self::new(state) }
    }

    /// Returns the same state for another run.
    pub(crate) fn copy(&self) -> Self {
        let Self { state, sizes, is_ahead, .. } = self;
        Self { sizes: sizes.clone(), is_ahead: *is_ahead, ..Self::new(Arc::clone(state)) }
    }

    /// Returns a snapshot of the state.
    pub(crate) fn share(&self) -> Arc<dyn ErasedState> {
        Arc::clone(&self.state)
    }

    /// Returns the state and its indexes for writing. If a snapshot is still held, the state is copied first, so that
    /// the snapshot does not change.
    pub(crate) fn writable(&mut self) -> (&mut dyn ErasedState, &mut Indexes) {
        self.is_ahead = true;
        if Arc::strong_count(&self.state) > 1 {
            self.state = self.state.duplicate();
        }
        let state = Arc::get_mut(&mut self.state).expect("a state without snapshots");
        (state, &mut self.indexes)
    }

    /// Updates the sizes after changes were stored.
    pub(crate) fn follow<'c>(&mut self, changes: impl IntoIterator<Item = &'c Change>) {
        changes.into_iter().for_each(|change| self.sizes.follow(change));
    }

    /// Marks the whole state as stored.
    pub(crate) fn stored(&mut self) {
        self.is_ahead = false;
    }

    /// Returns the size of the stored fields in bytes, or an upper bound: see [`Sizes`].
    pub(crate) fn bytes(&self) -> usize {
        self.sizes.0.iter().sum()
    }

    /// Returns `true` if this is the state of the last stored checkpoint.
    pub(crate) fn is_stored(&self) -> bool {
        !self.is_ahead
    }

    /// Resets fields that are never stored to their initial values, as if the state had been read from the store.
    pub(crate) fn forget(&mut self, unstored: &[FieldId]) {
        if unstored.is_empty() {
            return;
        }
        let (state, indexes) = self.writable();
        unstored.iter().for_each(|field| state.reset_field(*field));
        *indexes = Indexes::default();
        self.stored();
    }
}

/// The lengths of a state's stored fields in bytes. An operation that removes data does not reduce a length, so each
/// length is an upper bound.
#[derive(Clone, Default)]
struct Sizes(Vec<usize>);

impl Sizes {
    fn of(values: &[FieldValue]) -> Self {
        let mut sizes = Self::default();
        values.iter().for_each(|held| *sizes.of_field(held.field) = held.value.as_str().len());
        sizes
    }

    fn follow(&mut self, change: &Change) {
        let size = self.of_field(change.field);
        for op in &change.ops {
            let operand = op.operand().as_str().len();
            *size = if op.is_whole() { operand } else { *size + operand };
        }
    }

    fn of_field(&mut self, field: FieldId) -> &mut usize {
        if self.0.len() <= field.index() {
            self.0.resize(field.index() + 1, 0);
        }
        &mut self.0[field.index()]
    }
}

impl Deref for CurrentState {
    type Target = dyn ErasedState;

    fn deref(&self) -> &(dyn ErasedState + 'static) {
        &*self.state
    }
}
