//! An attempt that this process drives: its claim, and requests to stop it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use superstep_core::id::ThreadId;
use superstep_core::records::life::Beat;
use superstep_core::records::{CancelAction, Heartbeat, RunRow};
use superstep_core::run::CancellationToken;

use super::hold::Hold;

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

/// The controls of an attempt.
pub(crate) struct Control {
    pub(super) cancel: CancellationToken,
    pub(super) drain: CancellationToken,
    stop: Mutex<Option<Stop>>,
    run: String,
    thread: ThreadId,
    attempt: u32,
    /// The lease of the thread, once it is acquired.
    hold: OnceLock<Arc<Hold>>,
    /// The number of lost attempts, for the next heartbeat.
    lost: Mutex<Option<u32>>,
    /// Set if that number has changed since it was last asked.
    is_changed: AtomicBool,
}

impl Control {
    pub(super) fn new(claimed: &RunRow) -> Self {
        Self {
            cancel: CancellationToken::new(),
            drain: CancellationToken::new(),
            stop: Mutex::default(),
            run: claimed.id.clone(),
            thread: claimed.thread.clone(),
            attempt: claimed.attempt,
            hold: OnceLock::new(),
            lost: Mutex::default(),
            is_changed: AtomicBool::new(false),
        }
    }

    /// Has the lease renewed with the claim.
    pub(super) fn renew(&self, hold: &Arc<Hold>) {
        self.hold.get_or_init(|| Arc::clone(hold));
    }

    pub(super) fn thread(&self) -> &ThreadId {
        &self.thread
    }

    pub(super) fn hold(&self) -> Option<&Arc<Hold>> {
        self.hold.get()
    }

    /// Sets the number of lost attempts, which the next heartbeat stores.
    pub(super) fn count(&self, lost: Option<u32>) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = lost;
        self.is_changed.store(true, Ordering::Release);
    }

    /// Returns `true` if the next heartbeat has something to store beside the claim.
    pub(super) fn take_changed(&self) -> bool {
        self.is_changed.swap(false, Ordering::AcqRel)
    }

    /// Returns the heartbeat that extends the claim.
    pub(super) fn heartbeat(&self) -> Heartbeat {
        let lost = *self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        Heartbeat { run: self.run.clone(), attempt: self.attempt, lost }
    }

    /// Takes the answer to a heartbeat.
    pub(super) fn answered(&self, beat: Beat) {
        match beat {
            Beat::Held => {}
            Beat::Cancel(action) => self.stop(Stop::from(action)),
            Beat::Lost => self.stop(Stop::Lost),
        }
    }

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
