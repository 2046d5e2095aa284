//! The graph's context: what nodes need that is not state (clients, pools, configuration).

use core::ops::Deref;

use super::function::FromTask;
use super::input::NoInput;
use super::task::Task;
use crate::state::State;

/// Gives nodes one part of the graph's context. Derive it: `#[derive(FromRef)]` implements it for the type of
/// each field, and for the context as a whole.
#[diagnostic::on_unimplemented(
    message = "the graph context `{C}` provides no `{Self}`",
    label = "not a part of `{C}`",
    note = "add a field of type `{Self}` to `{C}` and derive it: `#[derive(FromRef, Clone)] struct {C} {{ .. }}`"
)]
pub trait FromRef<C>: Sized {
    /// Clones the part out of the context.
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
