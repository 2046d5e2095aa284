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
    /// `true` if something was written into it that is not stored yet.
    is_ahead: bool,
}

impl CurrentState {
    pub(crate) fn new(state: Arc<dyn ErasedState>) -> Self {
        Self { state, indexes: Indexes::default(), sizes: Sizes::default(), is_ahead: false }
    }

    /// The state of stored values.
    pub(crate) fn of(state: Arc<dyn ErasedState>, values: &[FieldValue]) -> Self {
        Self { sizes: Sizes::of(values), ..Self::new(state) }
    }

    /// A snapshot of it.
    pub(crate) fn share(&self) -> Arc<dyn ErasedState> {
        Arc::clone(&self.state)
    }

    /// The state and its indexes, to write into. A snapshot that is still held keeps its value: the state is then
    /// copied first.
    pub(crate) fn writable(&mut self) -> (&mut dyn ErasedState, &mut Indexes) {
        self.is_ahead = true;
        if Arc::strong_count(&self.state) > 1 {
            self.state = self.state.duplicate();
        }
        let state = Arc::get_mut(&mut self.state).expect("a state without snapshots");
        (state, &mut self.indexes)
    }

    /// Takes note of what was stored.
    pub(crate) fn follow<'c>(&mut self, changes: impl IntoIterator<Item = &'c Change>) {
        changes.into_iter().for_each(|change| self.sizes.follow(change));
    }

    /// Takes note that all of it is stored.
    pub(crate) fn stored(&mut self) {
        self.is_ahead = false;
    }

    /// The size of its fields in bytes, as they are stored.
    pub(crate) fn bytes(&self) -> usize {
        self.sizes.0.iter().sum()
    }

    /// Returns `true` if it is the state of the last checkpoint that was stored.
    pub(crate) fn is_stored(&self) -> bool {
        !self.is_ahead
    }

    /// Returns fields to their initial values that are never stored, as if the state was read from the store.
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

/// The lengths of a state's fields in bytes, as they are stored. What an operation takes out of a field is not known, so
/// a length is the largest that it may be.
#[derive(Default)]
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
