//! Why documents cannot be indexed.

use std::path::PathBuf;

/// Why a folder cannot be indexed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The path is not a folder that can be read. Give one that is.
    #[error("`{}` is not a folder that can be read", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
}
