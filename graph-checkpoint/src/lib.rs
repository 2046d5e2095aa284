//! Durable checkpoints for [Superstep](https://docs.rs/superstep): the SQLite saver and store, and with the feature `postgres`
//! those for Postgres.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use superstep_checkpoint::{Durability, SqliteSaver};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("essays.db");
//! let saver = SqliteSaver::open(&path).await?;                    // survives power loss
//! # drop(saver);
//! let faster = SqliteSaver::options().durability(Durability::Process).open(&path).await?;
//! # drop(faster);
//! # Ok(())
//! # }
//! ```
//!
//! # The file
//!
//! One SQLite file holds any number of threads of any number of graphs. Everything in it is JSON text and
//! plain numbers, readable with `sqlite3` and without the program that wrote it.
//!
//! ```text
//! thread ──head──► checkpoint ──parent──► checkpoint ──parent──► …        one row a superstep
//!                    │ changes                │ changes
//!                    │   field 0 ──prev───────┼───────────────► set       a value is the fold of its chain
//!                    │   field 3 ──prev────► extend ──prev──► …
//!                    │ manifest: tasks, frontier, metadata
//!                    └─► schema, topology     once per fingerprint
//!                    └─► body                 texts from 4 KiB, once per content
//!
//!                    ◄── emitted              what its tasks emitted, for runs that keep it
//!
//! pending, ask, effect                        work on top of a checkpoint, per thread
//! server_thread, server_run, …                the rows of a server: superstep_core::records
//! ```
//!
//! A checkpoint's row lists only the fields that changed. Each change names the checkpoint that holds the
//! field's previous version, unless it begins with a `set`; so a branch never picks up another branch's items,
//! a fork copies nothing, and a growing list costs its new items. Every [`MAP_EVERY`] checkpoints the row also
//! holds the whole map from field to version, so that finding a field's version is a bounded walk.
//!
//! The versions live in the checkpoint's own row, not in a table of their own, because what a commit costs is
//! the number of pages it touches: this way it is that row and the thread's head. Ids are entered into the
//! table `locator` 64 at a time, for the same reason; the newest are found by looking at them.
//!
//! Every row carries a checksum over its columns and its identity: a damaged or misplaced row is
//! [`StoreError::Corrupt`](superstep_core::checkpoint::StoreError::Corrupt), never a value.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
compile_error!("superstep-checkpoint needs its feature `sqlite` or `postgres`");

mod checkpoint_reader;
mod checksum;
mod durability;
#[cfg(feature = "encryption")]
mod encryption;
#[cfg(not(feature = "encryption"))]
#[path = "encryption/absent.rs"]
mod encryption;
mod error;
#[cfg(all(any(fuzzing, test), feature = "sqlite"))]
#[doc(hidden)]
pub mod fuzzing;
mod history;
mod limited;
pub mod maintenance;
mod pending;
pub mod portable;
#[cfg(feature = "postgres")]
mod postgres;
mod read_only;
mod records;
mod retention;
#[cfg(feature = "sqlite")]
mod sqlite;
mod subgraphs;

pub use checkpoint_reader::{CheckpointReader, Located, ThreadList, ThreadSize};
pub use durability::Durability;
#[cfg(feature = "encryption")]
pub use encryption::{Key, KeyError, KeyId, KeyRing, Keys};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresReader, PostgresSaver, PostgresStore};
pub use read_only::ReadOnlySaver;
#[cfg(feature = "sqlite")]
pub use sqlite::{CheckpointFile, MAP_EVERY, SqliteOptions, SqliteReader, SqliteSaver, SqliteStore, Stage};
pub use subgraphs::Subgraph;
