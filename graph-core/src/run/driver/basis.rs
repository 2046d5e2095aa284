//! The state on which branches decide: the snapshot with the writes of their own node, without those of siblings.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use spin::Mutex;

use crate::error::NodeError;
use crate::node::Done;
use crate::run::runtime::current_state::CurrentState;
use crate::state::{ErasedState, ErasedUpdate, Indexes, Lifetime, Schema};

/// The state on which the branches of a task decide, before the task's own writes.
#[derive(Default)]
pub(crate) enum Basis {
    /// The node has no branches.
    #[default]
    Nothing,
    /// The driver's state. The task is alone in its superstep, so its writes are merged before the barrier, and
    /// nothing is copied.
    Current,
    /// A snapshot that other tasks use too, so the writes are applied to a copy.
    Shared(Box<Shared>),
}

pub(crate) struct Shared {
    pub(crate) snapshot: Arc<dyn ErasedState>,
    pub(crate) copies: Arc<Copies>,
}

/// Copies of a superstep's snapshot that no branch currently uses.
///
/// After its decision, a task restores the fields that it wrote. So a wide superstep copies the whole state only
/// once per thread, and after that only the written fields.
#[derive(Default)]
pub(crate) struct Copies(Mutex<Vec<Arc<dyn ErasedState>>>);

impl Basis {
    /// A snapshot that no other task uses.
    pub(crate) fn snapshot(snapshot: Arc<dyn ErasedState>) -> Self {
        Self::Shared(Box::new(Shared { snapshot, copies: Arc::default() }))
    }

    /// Decides on the state with the writes of `done`. `current` is the driver's state, if it is available.
    pub(crate) fn decide<R>(
        &self,
        done: &mut Done,
        current: Option<&mut CurrentState>,
        schema: &Schema,
        decide: impl FnOnce(&dyn ErasedState) -> Result<R, NodeError>,
    ) -> Result<R, NodeError> {
        match (self, current) {
            (Self::Current, Some(current)) => {
                merge(done, current, schema);
                decide(&**current)
            }
            (Self::Shared(shared), _) => match done.update.as_deref() {
                Some(update) if !update.is_empty() => shared.copies.decide(&*shared.snapshot, update, decide),
                _ => decide(&*shared.snapshot),
            },
            (Self::Nothing | Self::Current, _) => {
                unreachable!("an attempt with branches has a snapshot, or is polled with the driver's state")
            }
        }
    }
}

/// Merges the writes of a task that is alone in its superstep, as the barrier would.
fn merge(done: &mut Done, current: &mut CurrentState, schema: &Schema) {
    let Some(update) = done.update.take().filter(|update| !update.is_empty()) else { return };
    let fields = (0..update.len()).map(|index| update.shape(index).0);
    let one_step: Vec<_> =
        fields.filter(|field| schema.field(*field).lifetime == Lifetime::OneStep).collect();
    if !one_step.is_empty() {
        done.record_mut().one_step = one_step;
    }
    let (state, indexes) = current.writable();
    state.apply(indexes, update, &|_| true);
}

impl Copies {
    fn decide<R>(
        &self,
        snapshot: &dyn ErasedState,
        update: &dyn ErasedUpdate,
        decide: impl FnOnce(&dyn ErasedState) -> Result<R, NodeError>,
    ) -> Result<R, NodeError> {
        let writes = update.duplicate()?;
        let idle = self.0.lock().pop();
        let mut copy = idle.unwrap_or_else(|| snapshot.duplicate());
        let state = Arc::get_mut(&mut copy).expect("a copy has one user at a time");
        state.apply(&mut Indexes::default(), writes, &|_| true);
        let decided = decide(state);
        // If a reducer or a branch panics, the copy is dropped instead.
        for index in 0..update.len() {
            state.copy_field(update.shape(index).0, snapshot);
        }
        self.0.lock().push(copy);
        decided
    }
}
