//! Snapshots of the files of a folder, by content.

mod error;
mod id;
mod manifest;
mod stat;
mod store;

pub use self::error::SnapshotError;
pub use self::id::{InvalidSnapshotId, SnapshotId};
pub use self::manifest::{ChangeKind, ChangedFile, NotCovered, NotCoveredReason};
pub use self::store::Swept;
