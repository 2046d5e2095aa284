//! Anthropic's Messages protocol.

mod caching;
mod client;
mod reader;
mod request;

pub use caching::Caching;
pub use client::Anthropic;
pub use request::Thinking;

/// The name of the protocol, in [`Origin`](superstep_nodes::message::Origin)s.
pub(super) const PROVIDER: &str = "anthropic";
