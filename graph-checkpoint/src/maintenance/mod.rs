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

mod deleted;
mod error;
#[cfg(feature = "encryption")]
mod rekeyed;
mod usage;
mod verified;

pub use self::deleted::{Collected, Pruned, Retained};
pub use self::error::MaintenanceError;
#[cfg(feature = "encryption")]
pub use self::rekeyed::{Form, Rekeyed};
pub use self::usage::{FieldUsage, TableUsage, ThreadUsage, Usage};
pub use self::verified::{Counts, Finding, Unused, Verified};
pub use crate::retention::Retention;
#[cfg(all(feature = "encryption", feature = "sqlite"))]
pub use crate::sqlite::maintenance::rekey::rekey;
#[cfg(feature = "sqlite")]
pub use crate::sqlite::maintenance::{
    Copied, Existing, Migration, Vacuumed, backup, collect, collectable, migrate, migration, prunable, prune,
    usage, vacuum, verify,
};
