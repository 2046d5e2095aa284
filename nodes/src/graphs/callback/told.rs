//! The events of a run that an agent's observers receive.

use superstep_core::run::{EventKind, RunEvent};

use super::CallbackState;
use crate::node::{Agent, Reasoning, Tools};
use crate::tool::ToolEvent;

/// An event of a run's agent, or of one of its calls.
pub(super) enum Told {
    Reasoning(Reasoning),
    Call(ToolEvent),
}

impl Told {
    /// Reads an event: nothing if it is about something else.
    pub(super) fn of(event: &RunEvent) -> Option<Self> {
        let EventKind::Custom { name, data, .. } = &event.kind else { return None };
        match name.as_str() {
            Agent::<CallbackState>::REASONING => data.decode().ok().map(Self::Reasoning),
            Tools::<CallbackState>::EVENT => data.decode().ok().map(Self::Call),
            _ => None,
        }
    }
}
