//! What a search found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Chunk;

/// A chunk that a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// The document: for one of a folder its path below that, with `/` between the parts.
    pub source: String,
    /// What it says there.
    #[serde(flatten)]
    pub chunk: Chunk,
    /// How similar its meaning is to the question's, from 0 to 1; nothing if it was not among the most similar, or if
    /// only words were searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// How well it fits the question; larger is better. Comparable within one search only.
    pub score: f64,
}
