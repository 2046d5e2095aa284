//! A piece of a document, and the results of a search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A piece of a document, with its position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Passage {
    /// The file, relative to the indexed folder, with `/` between the parts.
    pub path: String,
    /// The headings above it, outermost first, joined by ` > `; for a comment in source code the line it
    /// is about.
    pub heading: String,
    /// The kind of its block.
    pub kind: PassageKind,
    /// Its first line in the file, counted from 1.
    pub line_start: u32,
    /// Its last line in the file.
    pub line_end: u32,
    /// Its text as in the file; comments are without their markers.
    pub text: String,
    /// The score for the query; larger is better. It can be compared within one search only.
    pub score: f64,
}

/// The kind of block of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PassageKind {
    /// Sentences.
    Prose,
    /// A list, or some items of one.
    List,
    /// A table, or some rows of one.
    Table,
    /// Code.
    Code,
    /// A comment in source code.
    Comment,
}

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
