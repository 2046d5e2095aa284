//! A piece of a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A piece of a text that is found as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Chunk {
    /// Its text, without white space around it.
    pub text: String,
    /// The headings above it, outermost first, joined by ` > `; empty where there are none.
    pub heading: String,
    /// Its first line in the text, counted from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
}
