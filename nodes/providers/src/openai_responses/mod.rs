//! OpenAI's Responses protocol.

mod client;
mod items;
mod reader;
mod reasoning;
mod request;

pub use client::OpenAiResponses;
pub use reasoning::Reasoning;

/// The name of the protocol, in [`Origin`](superstep_nodes::message::Origin)s.
pub(super) const PROVIDER: &str = "openai-responses";
