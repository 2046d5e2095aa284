//! The state of a flow.

use crate::state::{Json, State};

/// What a thread of a flow keeps: its input, what it returned and what it saved, as JSON. Beside it the store has
/// the journal of the effects and the questions, as of any node.
#[derive(State, Clone, Debug, Default, PartialEq)]
pub struct FlowState {
    /// The input of the latest run.
    pub(super) input: Option<Json>,
    /// What the latest finished run returned.
    pub(super) returned: Option<Json>,
    /// What the latest finished run saved for the next: by default what it returned.
    pub(super) saved: Option<Json>,
}

impl FlowState {
    /// The input of the latest run; `None` for one that was JSON's `null`.
    #[must_use]
    pub fn input(&self) -> Option<&Json> {
        self.input.as_ref()
    }

    /// What the latest finished run returned; `None` also for `null`.
    #[must_use]
    pub fn returned(&self) -> Option<&Json> {
        self.returned.as_ref()
    }

    /// What the latest finished run saved for the next; `None` also for `null`.
    #[must_use]
    pub fn saved(&self) -> Option<&Json> {
        self.saved.as_ref()
    }
}
