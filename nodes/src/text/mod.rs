//! Reading English text without understanding it: words, stems, and the pieces that make sense by themselves.
//!
//! The stems are those of SQLite's `porter` tokenizer.

mod abridged;
mod stem;
mod units;
mod words;

pub use abridged::without_fence;
pub(crate) use abridged::{abridged, left_out};
pub use stem::stem;
pub use units::{is_code, statements, units};
pub use words::{identifiers, parts, words};
