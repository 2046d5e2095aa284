//! Positions in the events of a thread's past.

use serde::{Deserialize, Serialize};

use crate::id::CheckpointId;

/// A position in the events of a thread's past. It is valid in every process and after every restart: keep the
/// position of the last event that you have processed, and continue from there with
/// [`PastEvents::after`](super::PastEvents::after).
///
/// The position of a checkpoint follows from its id alone, so a live
/// [`CheckpointSaved`](crate::run::EventKind::CheckpointSaved) also gives a position from which to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EventPosition {
    /// The checkpoint to which the event belongs: its superstep led to the checkpoint, or the checkpoint ended its
    /// run.
    pub checkpoint: CheckpointId,
    /// The event's number: negative for events before the checkpoint was stored, 0 for its
    /// [`CheckpointSaved`](crate::run::EventKind::CheckpointSaved), positive for later ones.
    pub index: i64,
}

impl From<CheckpointId> for EventPosition {
    /// Returns the position at which the checkpoint was stored.
    fn from(checkpoint: CheckpointId) -> Self {
        Self { checkpoint, index: 0 }
    }
}
