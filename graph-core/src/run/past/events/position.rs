//! A place among the events of a thread's past.

use serde::{Deserialize, Serialize};

use crate::id::CheckpointId;

/// A place among the events of a thread's past. It means the same in every process and after every restart: keep
/// the one of the last event that you have dealt with, and go on from there with
/// [`PastEvents::after`](super::PastEvents::after).
///
/// The place of a checkpoint itself is known from its id alone, so a live
/// [`CheckpointSaved`](crate::run::EventKind::CheckpointSaved) is a place to go on from, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EventPosition {
    /// The checkpoint that the event belongs to: the superstep led to it, or it ended the run.
    pub checkpoint: CheckpointId,
    /// Negative for what came before the checkpoint was saved, 0 for its
    /// [`CheckpointSaved`](crate::run::EventKind::CheckpointSaved), positive for what came after it.
    pub index: i64,
}

impl From<CheckpointId> for EventPosition {
    /// Where the checkpoint was saved.
    fn from(checkpoint: CheckpointId) -> Self {
        Self { checkpoint, index: 0 }
    }
}
