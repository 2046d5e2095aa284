//! Prebuilt parts for agents: messages, models, tools, documents, and what an evaluator, a ranker and a
//! decider ask and answer.
//!
//! | module | what is in it |
//! |---|---|
//! | [`message`] | what a conversation is made of |
//! | [`model`] | the trait of chat models, and two that need no network |
//! | [`tool`] | what a model may ask to have done |
//! | [`docs`] | a folder of documents that can be searched, also as a tool |
//! | [`prompt`] | what the evaluator, the ranker and the decider ask their model |
//!
//! Nothing here reads a clock or draws a random number, and nothing opens a connection: the same input
//! gives the same output, which is what lets a recorded run be replayed.

#![forbid(unsafe_code)]

pub mod docs;
mod evaluation;
pub mod message;
pub mod model;
pub mod prompt;
mod ranking;
mod text;
pub mod tool;

pub use evaluation::Evaluation;
pub use ranking::Ranking;
