//! The results of a search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Chunk;

/// A chunk that a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundChunk {
    /// The document: for one of a folder its path below that, with `/` between the parts.
    pub source: String,
    /// The chunk that was found.
    #[serde(flatten)]
    pub chunk: Chunk,
    /// The similarity of its meaning to that of the question, from 0 to 1; absent if it was not among the most similar,
    /// or if only words were searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// The score for the question; larger is better. It can be compared within one search only.
    pub score: f64,
}
