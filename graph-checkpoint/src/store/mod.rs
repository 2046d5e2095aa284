//! The store in a file: values that outlive threads, beside the checkpoints or in a file of their own.

mod sqlite_store;
mod table;

pub use sqlite_store::SqliteStore;
pub(crate) use table::check;
