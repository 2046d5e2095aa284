//! Maintenance of a file: verify, backup, usage, vacuum and prune.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod backup;
mod branches;
mod collect;
mod columns;
mod locked;
mod migrate;
pub(crate) mod prune;
mod retain;
mod segments;
mod usage;
mod verify;
pub(crate) mod written;
