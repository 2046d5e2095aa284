//! The results of a search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Passage;

/// What a search found, and how common the words of the query are in the documents: that a word of the
/// query is nowhere in them says as much as what was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchHits {
    /// The query.
    pub query: String,
    /// The passages, best first.
    pub passages: Vec<Passage>,
    /// The telling words of the query.
    pub words: Vec<WordCount>,
    /// The number of sections that were searched.
    pub searched: u64,
}

/// The frequency of a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WordCount {
    /// The word, in lower case.
    pub word: String,
    /// The number of sections that have a form of it.
    pub itself: u64,
    /// The number of sections that have a form of it or of a related word.
    pub meant: u64,
}
