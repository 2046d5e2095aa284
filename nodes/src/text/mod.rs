//! Reading English text without understanding it: words, stems, sentences, and how well a text covers the
//! words of a question.
//!
//! ```text
//! text ──▶ words ──(stop words out)──▶ stems ──┐
//! question ──▶ words ──▶ stems with weights ───┴──▶ relevance, for each unit
//! text ──▶ units (sentences, list items, table rows, code blocks) ──┘
//! ```
//!
//! The stems are those of SQLite's `porter` tokenizer, so what the full-text index finds is what is
//! matched here.

mod abridged;
mod query;
mod relevance;
mod stem;
mod stop_words;
mod synonyms;
mod units;
mod words;

pub(crate) use abridged::{abridged, left_out};
pub(crate) use query::{Query, Term, Terms};
pub(crate) use relevance::{Relevance, Source, relevance};
pub(crate) use stem::stem;
pub(crate) use stop_words::{is_filler_word, is_stop_word};
pub(crate) use synonyms::synonyms;
pub(crate) use units::{statements, units};
pub(crate) use words::{parts, words};
