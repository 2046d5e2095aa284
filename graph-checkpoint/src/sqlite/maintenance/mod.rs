//! Maintenance of a file. [`maintenance`](crate::maintenance) describes it.

mod backup;
mod collect;
mod migrate;
mod prune;
#[cfg(feature = "encryption")]
pub(crate) mod rekey;
pub(crate) mod retention_pass;
mod usage;
mod vacuum;
mod verify;
mod writing;

pub use backup::{Copied, Existing, backup};
pub use collect::{collect, collectable};
pub use migrate::{Migration, migrate, migration};
pub use prune::{prunable, prune};
pub use usage::usage;
pub use vacuum::{Vacuumed, vacuum};
pub use verify::verify;
