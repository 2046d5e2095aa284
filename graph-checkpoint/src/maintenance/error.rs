//! Errors of the maintenance of a file.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use superstep_core::checkpoint::StoreError;

/// An error of the maintenance of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MaintenanceError {
    /// The file cannot be read or written, or is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file has an older format, which is only read. [`migrate`](super::migrate) it first.
    #[error("{path} has format {found}, which is only read; `superstep migrate` upgrades it to {current}")]
    OlderFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The current format.
        current: u32,
    },
    /// A file exists at the path of the copy. Choose another name, or replace it.
    #[error("{0} exists: choose another name, or replace it with --force")]
    Exists(PathBuf),
    /// The path holds something other than a checkpoint file, or is a link to such a thing, so it is not replaced.
    /// Choose another name.
    #[error("{0} exists and is not a checkpoint file: choose another name")]
    Foreign(PathBuf),
    /// The path to be replaced is that of the file to be copied. Choose another name.
    #[error("{0} is the file to copy: choose another name")]
    Itself(PathBuf),
    /// A program has the file to be replaced open, or did not close it properly. Choose another name, or close it.
    #[error("{0} is in use, or was not closed by the program that wrote it: choose another name")]
    InUse(PathBuf),
    /// The copy could not be written, and was deleted. Check the folder's permissions and the free space.
    #[error("{path} cannot be written: {cause}")]
    Unwritable {
        /// The copy.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// For this long, another program was writing, or was reading an older state of the file. Try again.
    #[error("another program kept the file busy for {0:?}: try again later")]
    Busy(Duration),
}
