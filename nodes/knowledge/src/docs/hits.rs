//! The results of a search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Passage;

/// The result of a search, with the frequency of each word of the query in the documents: a word that occurs nowhere is
/// as informative as a passage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchHits {
    /// The query.
    pub query: String,
    /// The passages, best first.
    pub passages: Vec<Passage>,
    /// The significant words of the query, with their frequencies.
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
