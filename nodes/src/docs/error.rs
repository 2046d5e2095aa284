//! Why documents cannot be indexed or searched.

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
    /// The full-text index could not be written. It is in memory, so memory is short or this is a defect.
    #[error("the full-text index could not be built")]
    Store(#[source] rusqlite::Error),
}

/// Why a search has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The full-text index could not be read. No question causes this: it is a defect or a lack of memory.
    #[error("the full-text index could not be searched")]
    Store(#[from] rusqlite::Error),
}
