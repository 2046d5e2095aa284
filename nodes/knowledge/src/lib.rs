//! Knowledge from documents, offline: a search in a folder, a knowledge base in a SQLite file, and a model that answers
//! by quoting.
//!
//! | module | what is in it |
//! |---|---|
//! | [`docs`] | a folder of documents that can be searched, also as a tool |
//! | [`rag`] | knowledge for a model to look up, by words and by meaning |
//! | [`extractive`] | a model without weights: it quotes what a tool found |

#![forbid(unsafe_code)]

// The derives name the framework `superstep`, as users do.
#[cfg(test)]
extern crate superstep_core as superstep;

pub mod docs;
pub mod extractive;
pub mod rag;
mod text;

#[doc(inline)]
pub use extractive::Extractive;
