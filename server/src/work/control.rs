//! Requests to stop a run that this process drives.

use std::sync::{Mutex, PoisonError};

use superstep_core::records::CancelAction;
use superstep_core::run::CancellationToken;

/// A reason to stop a run. Of two, the later one of this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    /// The server stops: the run goes back to the queue.
    GiveBack,
    /// A request ends the run, and its work is kept.
    Interrupt,
    /// A request ends the run, and its work is undone.
    Rollback,
    /// The run is another worker's, or has ended: nothing more is stored.
    Lost,
}

impl From<CancelAction> for Stop {
    fn from(action: CancelAction) -> Self {
        match action {
            CancelAction::Interrupt => Self::Interrupt,
            CancelAction::Rollback => Self::Rollback,
        }
    }
}

/// The controls of a run.
#[derive(Default)]
pub(crate) struct Control {
    pub(super) cancel: CancellationToken,
    pub(super) drain: CancellationToken,
    stop: Mutex<Option<Stop>>,
}

impl Control {
    /// Stops the run at once. Finished tasks are kept until the reason says otherwise.
    pub(crate) fn stop(&self, stop: Stop) {
        self.note(stop);
        self.cancel.cancel();
    }

    /// Stops the run after its current superstep.
    pub(crate) fn drain(&self) {
        self.note(Stop::GiveBack);
        self.drain.cancel();
    }

    fn note(&self, stop: Stop) {
        let mut noted = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        *noted = (*noted).max(Some(stop));
    }

    /// Returns the reason to stop, if there is one.
    pub(super) fn stopped(&self) -> Option<Stop> {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
