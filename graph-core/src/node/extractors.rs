//! The extractors of the state, the graph's context and its store.

use alloc::sync::Arc;
use core::ops::Deref;

use super::function::FromTask;
use super::input::NoInput;
use super::task::Task;
use crate::state::State;
use crate::store::Store;

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

/// Provides one part of the graph's context. `#[derive(FromRef)]` implements it for the type of each field, and for
/// the whole context.
#[diagnostic::on_unimplemented(
    message = "the graph context `{C}` provides no `{Self}`",
    label = "not a part of `{C}`",
    note = "add a field of type `{Self}` to `{C}` and derive it: `#[derive(FromRef, Clone)] struct {C} {{ .. }}`"
)]
pub trait FromRef<C>: Sized {
    /// Clones the part from the context.
    fn from_ref(context: &C) -> Self;
}

/// Extracts a part of the graph's context.
#[derive(Clone, Debug)]
pub struct Dep<T>(pub T);

impl<T> Deref for Dep<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<S, C, T> FromTask<S, C> for Dep<T>
where
    S: State,
    C: 'static,
    T: FromRef<C> + Send,
{
    type Input = NoInput;

    fn from_task(task: &Task<S, C>, _position: usize) -> Self {
        Self(T::from_ref(task.context()))
    }
}

impl<S: State, C> FromTask<S, C> for Store {
    type Input = NoInput;

    fn from_task(task: &Task<S, C>, _position: usize) -> Self {
        task.cell().run.store.clone().unwrap_or_else(Self::missing)
    }
}
