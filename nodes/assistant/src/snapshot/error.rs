//! An error of snapshots.

use std::io;
use std::path::PathBuf;

use super::SnapshotId;

/// An error of snapshots.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// A folder cannot be opened or written. Name one that can.
    #[error("the folder {} cannot be used: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The store would lie among the files that it is to cover. Put it in a folder of its own.
    #[error("the store of snapshots cannot be in {}, whose files it covers; put it in another folder", path.display())]
    StoreInFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder to write into is not empty. Name a new one, or an empty one.
    #[error("the folder {} is not empty", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The file of the store cannot be opened. Name one that can, in a folder that exists.
    #[error("the store of snapshots {} cannot be opened: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is another kind of file. It is not changed.
    #[error("`{}` is not a store of snapshots", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version of this library.
    #[error("`{}` has the format {format}, and this version reads up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: i64,
        /// The latest format that is known.
        known: i64,
    },
    /// The store does not have the snapshot: it was deleted, or taken with another store.
    #[error("there is no snapshot {0}")]
    Unknown(SnapshotId),
    /// The snapshot to return to is not one of those that led to the other.
    #[error("the snapshot {to} is not before the snapshot {from}")]
    NotBefore {
        /// The snapshot to return to.
        to: SnapshotId,
        /// The later snapshot.
        from: SnapshotId,
    },
    /// A content is missing in the store, or its bytes have changed there. Its file is not written.
    #[error("the content of `{path}` is damaged in the store of snapshots")]
    Damaged {
        /// The file's path, relative to the folder.
        path: String,
    },
    /// The program is ending, so nothing new is begun.
    #[error("the program is ending")]
    Stopped,
    /// The store could not be read or written.
    #[error("could not use the store of snapshots: {0}")]
    Store(#[from] rusqlite::Error),
}
