//! The state of a flow.

use crate::state::{Json, State};

/// The state of a thread of a flow: its input, its return value and the value that it saved, as JSON. The store also
/// has the journal of the effects and the questions, as for any node.
#[derive(State, Clone, Debug, Default, PartialEq)]
pub struct FlowState {
    /// The input of the latest run.
    pub(super) input: Option<Json>,
    /// The return value of the latest finished run.
    pub(super) returned: Option<Json>,
    /// The value that the latest finished run saved for the next run: by default its return value.
    pub(super) saved: Option<Json>,
}

impl FlowState {
    /// The input of the latest run; `None` for one that was JSON's `null`.
    #[must_use]
    pub fn input(&self) -> Option<&Json> {
        self.input.as_ref()
    }

    /// Returns the return value of the latest finished run; `None` also for `null`.
    #[must_use]
    pub fn returned(&self) -> Option<&Json> {
        self.returned.as_ref()
    }

    /// Returns the value that the latest finished run saved for the next run; `None` also for `null`.
    #[must_use]
    pub fn saved(&self) -> Option<&Json> {
        self.saved.as_ref()
    }
}
