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

use std::time::SystemTime;

pub use self::error::SnapshotError;
pub use self::id::{InvalidSnapshotId, SnapshotId};
pub use self::manifest::{ChangeKind, ChangedFile, NotCovered, NotCoveredReason};
pub use self::plan::Restore;
pub use self::restore::{Left, LeftReason, Restored};
pub use self::snapshots::{SnapshotOptions, Snapshots};
pub use self::store::Swept;
pub use self::taking::{Change, Taken};

/// Returns a time in nanoseconds since 1970.
fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |before| -before),
    }
}

/// A point in the work with a file, at which tests change files or end the work.
#[cfg(not(test))]
fn point(_: &str) {}

#[cfg(test)]
use self::tests::point;

#[cfg(test)]
mod tests;
