//! Reading English text without understanding it: words, stems, sentences, and how well a text covers the
//! words of a question.
//!
//! ```text
//! text ──▶ words ──(stop words out)──▶ stems ──┐
//! question ──▶ words ──▶ stems with weights ───┴──▶ relevance, for each unit
//!                └──▶ related words
//! text ──▶ units (sentences, list items, table rows, code blocks) ──┘
//! ```
//!
//! The stems are those of SQLite's `porter` tokenizer.

mod abridged;
mod markup;
mod query;
mod related;
mod relevance;
mod stem;
mod stemmer;
mod stop_words;
mod synonyms;
mod units;
mod words;

pub(crate) use abridged::{abridged, left_out};
pub(crate) use markup::without_markup;
pub(crate) use query::{Frequency, Query, Term, Terms};
pub(crate) use related::{related_stems, word_for};
pub(crate) use relevance::{Relevance, Source, relevance};
pub(crate) use stem::stem;
pub(crate) use stemmer::Stemmer;
pub(crate) use stop_words::{is_filler_word, is_stop_word};
pub(crate) use synonyms::synonyms;
pub(crate) use units::{is_code, statements, units};
pub(crate) use words::{identifiers, parts, words};
