//! Maintenance of a checkpoint file: verify it, measure it, copy it, migrate it, and delete unneeded data.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use superstep_checkpoint::{SqliteSaver, maintenance};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("essays.db");
//! let saver = SqliteSaver::open(&path).await?;
//! let verified = maintenance::verify(&path)?; // while the saver is open
//! assert!(verified.is_sound(), "{:?}", verified.findings);
//! # Ok(())
//! # }
//! ```
//!
//! These are plain functions on a path. They block, so an async program calls them on a thread that may block. They
//! need neither the types nor the program that wrote the file. A program may use the file at the same time.

mod backup;
mod collect;
mod error;
mod migrate;
mod prune;
#[cfg(feature = "encryption")]
mod rekey;
pub(crate) mod retention_pass;
mod usage;
mod vacuum;
mod verify;
mod writing;

pub use crate::retention::Retention;
pub use backup::{Copied, Existing, backup};
pub use collect::{Collected, collect, collectable};
pub use error::MaintenanceError;
pub use migrate::{Migration, migrate, migration};
pub use prune::{Pruned, prunable, prune};
#[cfg(feature = "encryption")]
pub use rekey::{Form, Rekeyed, rekey};
pub use retention_pass::Retained;
pub use usage::{FieldUsage, TableUsage, ThreadUsage, Usage, usage};
pub use vacuum::{Vacuumed, vacuum};
pub use verify::{Counts, Finding, Unused, Verified, verify};
