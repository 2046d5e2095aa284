//! The extractor of the state.

use alloc::sync::Arc;
use core::ops::Deref;

use super::function::FromTask;
use super::input::NoInput;
use super::task::Task;
use crate::state::State;

/// Extracts the state as of the last barrier. It does not include what siblings write in the same superstep.
#[derive(Debug)]
pub struct Snapshot<S>(Arc<S>);

impl<S> Deref for Snapshot<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S> Clone for Snapshot<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: State, C> FromTask<S, C> for Snapshot<S> {
    type Input = NoInput;

    fn from_task(task: &Task<S, C>, _position: usize) -> Self {
        Self(Arc::clone(task.state()))
    }
}
