//! The care of a file: what is found in it, copied, counted, given back and pruned.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

#[path = "savers/material.rs"]
#[expect(dead_code, reason = "shared with the tests that run against every saver")]
mod material;

#[path = "care/backup.rs"]
mod backup;
#[path = "care/branches.rs"]
mod branches;
#[path = "care/collect.rs"]
mod collect;
#[path = "care/columns.rs"]
mod columns;
#[path = "care/locked.rs"]
mod locked;
#[path = "care/migrate.rs"]
mod migrate;
#[path = "care/prune.rs"]
mod prune;
#[path = "care/retain.rs"]
mod retain;
#[path = "care/segments.rs"]
mod segments;
#[path = "care/usage.rs"]
mod usage;
#[path = "care/verify.rs"]
mod verify;
#[path = "care/written.rs"]
mod written;
