//! The errors of indexing documents.

use std::path::PathBuf;

/// An error of indexing a folder.
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
