//! Behaviour of the SQLite saver only: its file, damage to it, sharing it, and the data that survives.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod damage;
mod deletion;
pub(crate) mod encrypted;
mod file;
mod full;
mod hostile;
mod kill;
mod reader;
mod sharing;
