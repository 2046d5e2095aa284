//! The rows of a server, in the schema of the checkpoints: its threads, runs, assistants, schedules and events.
//!
//! ```text
//! a change of a thread, a new run, its end ──► read ──► life decides ──► decide: stored if nothing has changed
//!                                               ▲                          │
//!                                               └────── otherwise ─────────┘
//! other requests ──► one function of records.sql each
//! ```
//!
//! No lock is held between two calls, so a program that is suspended or cut off stops no other one.

mod decisions;
mod postgres_records;
mod rows;
mod search;
mod signals;

pub(crate) use postgres_records::PostgresRecords;
pub(crate) use rows::{SERVER_TABLES, ServerTable};
#[cfg(feature = "encryption")]
pub(crate) use rows::{tags, thread_of};
