//! Prebuilt parts for agents: messages, models, tools, nodes and whole graphs.
//!
//! | module | contents |
//! |---|---|
//! | [`message`] | what a conversation is made of |
//! | [`model`] | the trait of chat models and that of embedders, and a model that follows a script |
//! | [`compaction`] | what a model is shown of a conversation that is too long for it |
//! | [`tool`] | what a model may ask to have done |
//! | `images` | pictures made ready for models that see, with the feature `images` |
//! | [`prompt`] | what the evaluator, the ranker and the decider ask their model |
//! | [`configuration`] | settings from code, files and the environment |
//! | [`node`] | the nodes themselves, over any state: agent, tools, evaluator, ranker, decider |
//! | [`verification`] | how a response is verified before it is given |
//! | [`graphs`] | graphs made of them, ready to run |
//! | `telemetry` | what agents do as metrics, with the feature `metrics`, and as traces, with `otel` |
//!
//! But for those models and tools, that server and the timeouts of tools, nothing here reads a clock, draws a random
//! number or opens a connection: the same input gives the same output. What a model or a tool answers is recorded,
//! which is what lets a run be replayed.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// The derives name the framework `superstep`, as users do.
extern crate superstep_core as superstep;

mod blocking;
pub mod compaction;
pub mod configuration;
mod decisions;
pub mod graphs;
#[cfg(feature = "hosts")]
mod hosts;
#[cfg(feature = "images")]
pub mod images;
pub mod message;
pub mod model;
pub mod node;
mod picture;
pub mod prompt;
mod redact;
#[cfg(any(feature = "metrics", feature = "otel"))]
pub mod telemetry;
mod text;
#[cfg(feature = "tls")]
mod tls;
pub mod tool;
#[cfg(feature = "schema-validation")]
mod value_schema;
pub mod verification;

pub use decisions::{Evaluation, NextAction, Ranking, RoutingDecision};

/// The items that the packages beside this one use. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::blocking::blocking;
    #[cfg(feature = "hosts")]
    pub mod hosts {
        pub use crate::hosts::{HostError, Hosts, NotAHost, host_of};
    }
    pub use crate::message::log::Lineage;
    pub use crate::message::pairing::open_calls;
    pub use crate::node::agent::skipped;
    pub use crate::node::conversation::last_request;
    pub use crate::node::model_calls::ModelCalls;
    pub use crate::node::streaming::EarlyCalls;
    pub use crate::node::tool_runner::{Answer, ToolRunner, ToolTask, recorded_by_person};
    pub use crate::picture::media_type;
    pub use crate::redact::redact;
    pub use crate::text::{identifiers, is_code, parts, statements, stem, units, without_fence, words};
    #[cfg(feature = "tls")]
    pub use crate::tls::{TlsError, tls};
}
