//! Snapshots of the files of a folder, without git: rewind, redo and fork with files.
//!
//! ```text
//! take ─▶ a call of a tool ─▶ take ─▶ …      Taken::change: which snapshots a call is between
//!                                │
//!                    plan ◀──────┘           Restore: shows what would change
//!                     └──▶ restore           Restored: its change is undone in the same way
//! ```
//!
//! A snapshot has all files of a folder, by their content, also those that a shell command wrote. The first one reads all
//! of them. Each further one compares metadata, reads the files that differ, and stores what has changed. Contents are
//! in one SQLite file, each once. Nothing of git is read or written, but `.gitignore` is honoured.
//!
//! A [plan](Snapshots::plan) takes back only the changes of the calls that it is given. A file that was changed by others,
//! too, is named, and left as it is unless the caller [includes](Restore::include_foreign) it.

mod error;
mod id;
mod manifest;
mod place;
mod plan;
mod restore;
mod snapshots;
mod stat;
mod store;
mod taking;
mod tree;
mod write;

pub use self::error::SnapshotError;
pub use self::id::{InvalidSnapshotId, SnapshotId};
pub use self::manifest::{ChangeKind, ChangedFile, NotCovered, NotCoveredReason};
pub use self::plan::Restore;
pub use self::restore::{Left, LeftReason, Restored};
pub use self::snapshots::{SnapshotOptions, Snapshots};
pub use self::store::Swept;
pub use self::taking::{Change, Taken};

#[cfg(test)]
pub(crate) mod tests;
