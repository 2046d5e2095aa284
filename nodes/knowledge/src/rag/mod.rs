//! Knowledge for a model to look up: documents in a SQLite file, found by their words and by what they mean (retrieval
//! augmented generation).
//!
//! ```text
//! folder ──walk──▶ documents ──Chunker──▶ chunks ──Embedder──▶ embeddings ──▶ KnowledgeBase
//!                     └─▶ unchanged ones are left alone                        │        │
//!                                                                    words, by bm25   meaning, by cosine
//! question ─────────────────────────────────────────────────────────────▶     └──fusion──┘ ──▶ FoundChunk
//! ```
//!
//! A [`KnowledgeBase`] is a collection of documents. [`ingest`](KnowledgeBase::ingest) brings a folder into it, and
//! [`search`](KnowledgeBase::search) finds what fits a question; [`SearchKnowledge`] is that as a tool for a model. What
//! texts mean an [`Embedder`] says: the [`HashEmbedder`], which needs no model and no network, or one behind a network,
//! such as `OpenAiEmbedder` of `superstep-providers`.
//!
//! Embeddings are compared one by one, in memory order, by Rust: exact, and fast enough for some hundred thousand
//! chunks. An index of neighbours would be faster with more, and find less.
//!
//! A folder that is searched once, and by words only, needs no file: see [`docs`](crate::docs).

mod chunker;
mod embedder;
mod error;
mod fusion;
mod headings;
mod ingestion;
mod knowledge_base;
mod pause;
mod search_knowledge;
mod store;

pub use superstep_nodes::model::{EmbedError, Embedder, Embedding};

pub use chunker::{Chunk, Chunker};
pub use embedder::HashEmbedder;
pub use error::KnowledgeError;
pub use fusion::FoundChunk;
pub use ingestion::{IngestProgress, IngestReport, Ingestion};
pub use knowledge_base::{KnowledgeBase, SearchBy};
pub use search_knowledge::{SearchKnowledge, SearchKnowledgeInput};
