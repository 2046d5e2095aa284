//! A test suite for checkpoint stores: it checks the behaviour that every store must have.
//!
//! The author of a [`Checkpointer`](superstep_core::checkpoint::Checkpointer) implements [`Subject`], which opens a
//! store, and runs the suite in a test:
//!
//! ```
//! # use superstep_checkpoint::SqliteSaver;
//! use superstep_conformance::{self as conformance, Subject};
//! # use superstep_core::error::BoxError;
//!
//! struct Files(tempfile::TempDir, std::sync::atomic::AtomicU32);
//!
//! #[async_trait::async_trait]
//! impl Subject for Files {
//!     type Saver = SqliteSaver;
//!
//!     async fn fresh(&self) -> Result<SqliteSaver, BoxError> {
//!         let number = self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
//!         Ok(SqliteSaver::open(self.0.path().join(format!("{number}.db"))).await?)
//!     }
//!
//!     async fn reopen(&self, saver: &SqliteSaver) -> Result<Option<SqliteSaver>, BoxError> {
//!         let path = saver.path().ok_or("it has a file")?;
//!         Ok(Some(SqliteSaver::open(path).await?))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_multi_thread().build().unwrap().block_on(async {
//! # let subject = Files(tempfile::tempdir().unwrap(), 0.into());
//! // All of them: conformance::run(&subject).await.assert();
//! conformance::run_only(&subject, "heads.").await.assert();
//! # });
//! ```
//!
//! An item has a [name](Item::name) that does not change, and runs on a store of its own. A failed item does not stop
//! the others: the [`Report`] lists for each item that it passed, how the store differed, or why the item was not
//! applicable. Items race with tasks of the Tokio runtime in which they run, so use a runtime with several threads.
//!
//! A store whose [`reopen`](Subject::reopen) opens the same store again is also tested for durable data, and for two
//! programs that share the store.

#![forbid(unsafe_code)]

mod asks;
mod assistants;
mod bench;
mod clock;
mod commit;
mod crash;
mod deadlines;
mod delete;
mod effects;
mod emitted;
mod failures;
mod fold;
mod fork;
mod heads;
mod history;
mod inputs;
mod item;
mod leases;
mod lineage;
mod load;
pub mod material;
mod names;
mod outrun;
mod queue;
mod races;
mod refusals;
mod report;
mod results;
mod rows;
mod sharing;
mod steps;
mod subgraphs;
mod subject;
mod suite;
mod threads;
mod values;
mod verdict;
mod watch;
mod webhooks;

pub use item::Item;
pub use report::Report;
pub use subject::{Clock, Subject};
pub use suite::{items, run, run_only};
pub use verdict::{Failure, Outcome};
