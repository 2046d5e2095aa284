//! The SQLite saver, reader and store, and the maintenance of their files.

mod background_pruning;
mod column;
mod connection;
#[cfg(feature = "encryption")]
mod encryption;
#[cfg(not(feature = "encryption"))]
#[path = "encryption/absent.rs"]
mod encryption;
mod error;
mod file;
pub(crate) mod history;
pub(crate) mod maintenance;
mod options;
mod pending;
mod portable;
mod read;
mod read_file;
mod records;
mod saver;
mod snapshots;
mod sqlite_reader;
mod store;
mod watcher;
mod write;

pub use self::file::checkpoint_file::CheckpointFile;
pub use self::history::changes::MAP_EVERY;
pub use self::options::{SqliteOptions, Stage};
pub(crate) use self::read_file::ReadFile;
pub use self::saver::SqliteSaver;
pub use self::sqlite_reader::SqliteReader;
pub use self::store::SqliteStore;
