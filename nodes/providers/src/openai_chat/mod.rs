//! OpenAI's Chat Completions protocol, which many servers speak.

mod calls;
mod client;
mod options;
mod reader;
mod request;

pub use client::OpenAiChat;
pub use options::{InstructionRole, OutputLimit};

/// The name of the protocol, in [`Origin`](superstep_nodes::message::Origin)s.
pub(super) const PROVIDER: &str = "openai-chat";
