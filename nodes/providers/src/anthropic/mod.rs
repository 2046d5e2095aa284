//! Anthropic's Messages protocol.

mod client;
mod reader;
mod request;

pub use client::Anthropic;
pub use request::{Caching, Thinking};

/// The name of the protocol, in [`Origin`](superstep_nodes::message::Origin)s.
pub(super) const PROVIDER: &str = "anthropic";
