//! The amounts of deleted data.

use serde::Serialize;

/// The amounts of unreferenced data that were found or deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Long texts that nothing refers to.
    pub bodies: u64,
    /// Segments, the operations of many versions in one row, that nothing refers to.
    pub segments: u64,
    /// Questions, effects and other work that no reader sees, because its checkpoint is no longer the latest or no
    /// longer exists. Events of a server that have expired, or whose run was deleted.
    pub work: u64,
    /// Entries of the index on ids that refer to no checkpoint, and empty rows of earlier deletions. Times at which
    /// events of a server expired.
    pub remains: u64,
    /// The size in bytes of the texts of all these.
    pub bytes: u64,
}

impl Collected {
    /// Returns `true` if all amounts are zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The result of a pruning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// The number of checkpoints that were deleted or reduced to their state.
    pub checkpoints: u64,
    /// The number of threads of subgraphs that were deleted with the checkpoints that ran them.
    pub threads: u64,
    /// The decrease in bytes of the stored texts, without long texts, which [`collect`](super::collect()) deletes.
    pub bytes: i64,
}

impl Pruned {
    pub(crate) fn add(&mut self, more: Self) {
        self.checkpoints += more.checkpoints;
        self.threads += more.threads;
        self.bytes += more.bytes;
    }
}

/// The work of the background pruning of a saver: see [`SqliteOptions::retention`](crate::SqliteOptions::retention).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// The number of passes over the file.
    pub passes: u64,
    /// The number of checkpoints that it has deleted or reduced to their state.
    pub checkpoints: u64,
    /// The error of the latest pass, if it failed. The next pass tries again.
    pub failed: Option<String>,
}
