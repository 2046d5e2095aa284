//! OpenAI's Responses protocol.

mod client;
mod items;
mod reader;
mod request;

pub use client::OpenAiResponses;
pub use request::Reasoning;

/// The name of the protocol, in [`Origin`](superstep_nodes::message::Origin)s.
pub(super) const PROVIDER: &str = "openai-responses";
