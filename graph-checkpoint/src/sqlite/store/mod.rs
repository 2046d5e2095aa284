//! The SQLite store: values that outlive threads, in the checkpoint file or in a separate file.

mod sqlite_store;
pub(crate) mod table;

pub use sqlite_store::SqliteStore;
pub(crate) use table::check;
