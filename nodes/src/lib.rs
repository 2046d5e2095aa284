//! Prebuilt parts for agents: messages, models, tools, documents, nodes and whole graphs.
//!
//! | module | what is in it |
//! |---|---|
//! | [`message`] | what a conversation is made of |
//! | [`model`] | the trait of chat models, and two that need no network |
//! | [`tool`] | what a model may ask to have done |
//! | [`docs`] | a folder of documents that can be searched, also as a tool |
//! | [`prompt`] | what the evaluator, the ranker and the decider ask their model |
//! | [`node`] | the nodes themselves, over any state: agent, tools, evaluator, ranker, decider |
//! | [`graphs`] | graphs made of them, ready to run |
//!
//! Nothing here reads a clock or draws a random number, and nothing opens a connection: the same input
//! gives the same output, which is what lets a recorded run be replayed.

#![forbid(unsafe_code)]

// The derives name the framework `superstep`, as users do.
extern crate superstep_core as superstep;

pub mod docs;
mod evaluation;
pub mod graphs;
pub mod message;
pub mod model;
pub mod node;
pub mod prompt;
mod ranking;
mod text;
pub mod tool;

pub use evaluation::Evaluation;
pub use ranking::Ranking;
