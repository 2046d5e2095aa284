//! Tasks, from which extractors take their values.

use alloc::sync::Arc;
use core::any::Any;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::cell::TaskCell;
use super::input::Item;
use crate::state::{ErasedState, State};

/// One execution of a node, from which extractors take their values.
pub struct Task<S, C> {
    state: Arc<S>,
    input: Option<Item>,
    cell: Arc<TaskCell>,
    /// The number of extractors that were taken with `extract`.
    extracted: AtomicUsize,
    context: PhantomData<fn() -> C>,
}

/// A task without its types, as the driver passes it to a node.
pub(crate) struct ErasedTask {
    pub(crate) state: Arc<dyn ErasedState>,
    pub(crate) input: Option<Item>,
    pub(crate) cell: Arc<TaskCell>,
}

impl<S: State, C> Task<S, C> {
    /// Restores the types of an erased task.
    pub(crate) fn typed(task: ErasedTask) -> Self {
        let state: Arc<dyn Any + Send + Sync> = task.state;
        Self {
            state: state.downcast().expect("the driver owns the state of this graph"),
            input: task.input,
            cell: task.cell,
            extracted: AtomicUsize::new(0),
            context: PhantomData,
        }
    }
}

impl<S, C> Task<S, C> {
    /// Returns the state as of the last barrier.
    pub fn state(&self) -> &Arc<S> {
        &self.state
    }

    /// Returns the graph's context.
    pub fn context(&self) -> &C
    where
        C: 'static,
    {
        (*self.cell.run.context).downcast_ref().expect("the graph was given its context")
    }

    /// Returns the position of the next extractor that is taken with `extract`.
    pub(crate) fn next_position(&self) -> usize {
        self.extracted.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn input(&self) -> Option<&Item> {
        self.input.as_ref()
    }

    pub(crate) fn cell(&self) -> &Arc<TaskCell> {
        &self.cell
    }
}
