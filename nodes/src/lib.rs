//! Prebuilt parts for agents: messages, models, tools, documents, nodes and whole graphs.
//!
//! | module | what is in it |
//! |---|---|
//! | [`message`] | what a conversation is made of |
//! | [`model`] | the trait of chat models, and two that need no network |
//! | [`compaction`] | what a model is shown of a conversation that is too long for it |
//! | [`tool`] | what a model may ask to have done |
//! | [`docs`] | a folder of documents that can be searched, also as a tool |
//! | `images` | pictures made ready for models that see, with the feature `images` |
//! | [`rag`] | knowledge for a model to look up, by words and by meaning |
//! | [`prompt`] | what the evaluator, the ranker and the decider ask their model |
//! | [`configuration`] | settings from code, files and the environment |
//! | [`node`] | the nodes themselves, over any state: agent, tools, evaluator, ranker, decider |
//! | [`verification`] | how a response is verified before it is given |
//! | [`graphs`] | graphs made of them, ready to run |
//! | `telemetry` | what agents do as metrics, with the feature `metrics`, and as traces, with `otel` |
//!
//! But for those models and tools, that server and the timeouts of tools, nothing here reads a clock, draws a random
//! number or opens a connection: the same input gives the same output. What a model or a tool answers is recorded, which is
//! what lets a run be replayed.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// The derives name the framework `superstep`, as users do.
extern crate superstep_core as superstep;

mod blocking;
pub mod compaction;
pub mod configuration;
pub mod docs;
mod evaluation;
pub mod graphs;
#[cfg(feature = "images")]
pub mod images;
pub mod message;
pub mod model;
pub mod node;
mod picture;
pub mod prompt;
pub mod rag;
mod ranking;
mod redact;
mod routing;
#[cfg(any(feature = "metrics", feature = "otel"))]
pub mod telemetry;
mod text;
#[cfg(feature = "tls")]
mod tls;
pub mod tool;
#[cfg(feature = "schema-validation")]
mod value_schema;
pub mod verification;

pub use evaluation::Evaluation;
pub use ranking::Ranking;
pub use routing::{NextAction, RoutingDecision};

/// What the packages beside this one share with it. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::blocking::blocking;
    pub use crate::picture::media_type;
    pub use crate::redact::redact;
    #[cfg(feature = "tls")]
    pub use crate::tls::{TlsError, tls};
}
