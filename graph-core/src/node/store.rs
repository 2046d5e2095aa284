//! The extractor of the graph's store.

use super::function::FromTask;
use super::input::NoInput;
use super::task::Task;
use crate::state::State;
use crate::store::Store;

impl<S: State, C> FromTask<S, C> for Store {
    type Input = NoInput;

    fn from_task(task: &Task<S, C>, _position: usize) -> Self {
        task.cell().run.store.clone().unwrap_or_else(Self::missing)
    }
}
