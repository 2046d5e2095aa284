//! Why a knowledge base cannot be used.

use std::path::PathBuf;

use crate::docs::IndexError;
use crate::model::ModelError;

/// Why texts cannot be embedded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model behind the embedder failed; [`ModelError::is_retryable`] says whether another attempt may help.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The embedder gave another number of embeddings than there were texts: it is broken.
    #[error("the embedder gave {given} embeddings for {asked} texts")]
    Count {
        /// How many texts there were.
        asked: usize,
        /// How many embeddings came.
        given: usize,
    },
    /// Embeddings of one embedder have different numbers of dimensions: it is broken, or has changed since documents were
    /// ingested.
    #[error("the embedder gave {given} dimensions where there were {expected} before")]
    Dimensions {
        /// How many dimensions others have.
        expected: usize,
        /// How many this one has.
        given: usize,
    },
    /// An embedding has no numbers, or some that are not finite.
    #[error("the embedder gave an embedding that is none")]
    NoEmbedding,
}

/// Why a knowledge base cannot be used.
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
    /// The file is another kind of file. It is left as it is.
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
    /// The documents of the collection were embedded by another embedder. Open it with that one, or ingest the documents
    /// into another collection.
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
