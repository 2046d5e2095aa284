//! Requests for a checkpoint, and their answers.

use alloc::boxed::Box;

use super::commit::Carried;
use super::model::Loaded;
use super::name::CheckpointName;
use crate::id::{CheckpointId, NodeName};

/// The selection of a checkpoint of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// The latest checkpoint.
    Head,
    /// The checkpoint with this id.
    Id(CheckpointId),
    /// The newest checkpoint for which this node is next, going back from the head.
    Before(NodeName),
    /// The checkpoint to which the thread gave this name.
    Named(CheckpointName),
}

/// The answer to a request for a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// The thread has no checkpoint.
    Missing,
    /// The checkpoint is the one that the caller already has. This is its unfinished work.
    Unchanged(Carried),
    /// The checkpoint with its values and its unfinished work.
    Whole(Box<Loaded>),
}

impl Load {
    /// Returns the checkpoint, for a request without a known checkpoint.
    #[must_use]
    pub fn loaded(self) -> Option<Loaded> {
        match self {
            Self::Whole(loaded) => Some(*loaded),
            Self::Missing | Self::Unchanged(_) => None,
        }
    }
}
