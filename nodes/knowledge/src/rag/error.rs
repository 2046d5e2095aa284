//! An error of a knowledge base.

use std::path::PathBuf;

use super::EmbedError;
use crate::docs::IndexError;

/// An error of a knowledge base.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnowledgeError {
    /// Nothing was ingested into the file: it is not there, or does not have the collection. Ingest documents first.
    #[error(
        "there is no collection `{collection}` in `{}`; ingest documents into it first",
        path.display()
    )]
    NotIngested {
        /// The file.
        path: PathBuf,
        /// The collection.
        collection: String,
    },
    /// The file is another kind of file. It is not changed.
    #[error("`{}` is not a knowledge base", path.display())]
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
    /// The program is ending, so nothing new is begun. What was begun is whole or not there.
    #[error("the program is ending")]
    Stopped,
    /// The documents of the collection were embedded by another embedder. Open it with that one, or ingest the
    /// documents into another collection.
    #[error("the collection `{collection}` was ingested with the embedder `{stored}`, not `{given}`")]
    Embedder {
        /// The collection.
        collection: String,
        /// The embedder's name then.
        stored: String,
        /// The embedder's name now.
        given: String,
    },
    /// Texts could not be embedded.
    #[error("could not embed: {0}")]
    Embed(#[from] EmbedError),
    /// The folder of documents cannot be read.
    #[error(transparent)]
    Documents(#[from] IndexError),
    /// The file could not be read or written.
    #[error("could not use the knowledge base: {0}")]
    Store(#[from] rusqlite::Error),
}
