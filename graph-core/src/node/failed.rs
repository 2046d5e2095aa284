//! The failure that an error handler receives.

use alloc::sync::Arc;
use core::fmt;

use super::describe::NodeDescription;
use super::function::FromTask;
use super::input::NoInput;
use super::task::Task;
use crate::checkpoint::FailureRecord;
use crate::error::ErrorReport;
use crate::id::NodeName;
use crate::state::{Json, State};

/// Extracts the failure, in an error handler.
///
/// The failure is plain data, so a handler that continues in another process, after an answer or a crash, receives
/// the same one. Only error handlers may take it: see [`PolicyOf::on_error`](crate::graph::PolicyOf::on_error).
#[derive(Clone)]
pub struct Failed {
    failure: Arc<FailureRecord>,
    input: Option<Json>,
}

impl Failed {
    /// Returns the node that failed.
    #[must_use]
    pub fn node(&self) -> &NodeName {
        &self.failure.node
    }

    /// Returns the error of the last attempt.
    #[must_use]
    pub fn error(&self) -> &ErrorReport {
        &self.failure.error
    }

    /// Returns the number of attempts that the node made.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.failure.attempts
    }

    /// Returns the node's item of `each` as JSON, for a handler of several nodes. A handler of a single node can
    /// take the item as an [`Input`](super::Input).
    #[must_use]
    pub fn input(&self) -> Option<&Json> {
        self.input.as_ref()
    }
}

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failed({}: {})", self.failure.node, self.failure.error)
    }
}

impl<S: State, C> FromTask<S, C> for Failed {
    type Input = NoInput;

    fn from_task(task: &Task<S, C>, _position: usize) -> Self {
        let failure = task.cell().failure().expect("only an error handler takes `Failed`");
        // The item has a JSON form, because an item without one fails the task that sends it.
        let input = task.input().and_then(|item| item.encode().ok());
        Self { failure, input }
    }

    fn describe(node: &mut NodeDescription, _position: usize) {
        node.takes_failure();
    }
}
