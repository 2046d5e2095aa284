//! A request for a checkpoint, and its answer.

use alloc::boxed::Box;

use super::commit::Carried;
use super::model::Loaded;
use super::name::CheckpointName;
use crate::id::{CheckpointId, NodeName};

/// Which checkpoint of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// The latest.
    Head,
    /// The one with this id.
    Id(CheckpointId),
    /// The newest one, going back from the head, for which this node is next.
    Before(NodeName),
    /// The one that the thread has this name for.
    Named(CheckpointName),
}

/// The answer to a request for a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// The thread has no checkpoint.
    Missing,
    /// It is the checkpoint that the caller holds; this is the unfinished work on top of it.
    Unchanged(Carried),
    /// The checkpoint with its values and the work on top of it.
    Whole(Box<Loaded>),
}

impl Load {
    /// Returns the checkpoint of a request that named none as known.
    #[must_use]
    pub fn loaded(self) -> Option<Loaded> {
        match self {
            Self::Whole(loaded) => Some(*loaded),
            Self::Missing | Self::Unchanged(_) => None,
        }
    }
}
