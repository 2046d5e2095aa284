//! What is particular to the SQLite saver: its file, damage to it, sharing it, and what survives.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

#[path = "savers/material.rs"]
#[expect(dead_code, reason = "shared with the tests that run against every saver")]
mod material;

#[path = "sqlite/damage.rs"]
mod damage;
#[path = "sqlite/deletion.rs"]
mod deletion;
#[path = "sqlite/file.rs"]
mod file;
#[path = "sqlite/full.rs"]
mod full;
#[path = "sqlite/hostile.rs"]
mod hostile;
#[path = "sqlite/kill.rs"]
mod kill;
#[path = "sqlite/reader.rs"]
mod reader;
#[path = "sqlite/sealed/mod.rs"]
mod sealed;
#[path = "sqlite/sharing.rs"]
mod sharing;
