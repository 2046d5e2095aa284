//! Reading English text without understanding it: how well a text covers the words of a question.
//!
//! ```text
//! text ──▶ words ──(stop words out)──▶ stems ──┐
//! question ──▶ words ──▶ stems with weights ───┴──▶ relevance, for each unit
//!                └──▶ related words
//! text ──▶ units (sentences, list items, table rows, code blocks) ──┘
//! ```

mod markup;
mod query;
mod related;
mod relevance;
mod stemmer;
mod stop_words;
mod synonyms;

pub(crate) use markup::without_markup;
pub(crate) use query::{Frequency, Query, Term, Terms};
pub(crate) use related::{related_stems, word_for};
pub(crate) use relevance::{Relevance, Source, relevance};
pub(crate) use stemmer::Stemmer;
pub(crate) use stop_words::{is_filler_word, is_stop_word};
pub(crate) use superstep_nodes::__private::{identifiers, is_code, parts, statements, stem, units, words};
pub(crate) use synonyms::synonyms;
