//! The model that is always there: it quotes documents and writes nothing of its own.
//!
//! [`Extractive`] is no language model. It has no weights and understands nothing: it compares words. What
//! it can do, it does offline, at once, and in the same way every time:
//!
//! | asked by | it answers with |
//! |---|---|
//! | the agent | a call of `search_docs`; then the sentences found that have most of the question's words, with their sources |
//! | the evaluator | how many of the question's words the response has, and whether its quotes are in the evidence |
//! | the verifier | the same, criterion by criterion; of clarity and safety it understands nothing, and finds no fault with them |
//! | the ranker | the responses in order of their scores |
//! | the router | tools, if there are any: it knows nothing by itself |
//! | the decider | the best response, unchanged; if there is none, [`NOT_SEARCHED_IN_TIME`] |
//!
//! Words count by how rare they are in the documents. If the best sentence, with its headings, has too few
//! of the question's words, or lacks those that matter, nothing is quoted: the answer is
//! [`NO_SENTENCE_MATCHES`] and the nearest pages, or [`NOT_ANSWERED`] if none is near. So a question put in quite other
//! words than the documents' is not answered, even if they have the answer; words that are used for one another in this
//! field, such as workflow and graph, and both spellings of English are known.

mod agent;
mod answer;
mod extractive_model;
mod judge;
mod matching;
mod source;
#[cfg(test)]
mod tests;
mod verifier;

pub use answer::{NO_SENTENCE_MATCHES, NOT_ANSWERED, NOT_SEARCHED_IN_TIME, NOTHING_SEARCHED, is_refusal};
pub use extractive_model::Extractive;
pub use source::{Source, nearest, sources};
