//! Models behind a network: clients of the protocols that providers speak.
//!
//! | client | protocol | reaches |
//! |---|---|---|
//! | [`Anthropic`] | Messages | Anthropic, and servers that speak its protocol |
//! | [`OpenAiChat`] | Chat Completions | OpenAI, Ollama, vLLM, llama.cpp, LM Studio, and most other servers |
//! | [`OpenAiResponses`] | Responses | OpenAI |
//!
//! Each is a [`ChatModel`](superstep_nodes::model::ChatModel). A reply is streamed, and one whose stream breaks off is an error,
//! never a short answer. Events, fields and words that a provider adds are kept or passed over, and fail nothing.
//!
//! [`OpenAiEmbedder`] asks a model for embeddings, for a knowledge base.
//!
//! A client does not try again by itself: its errors say whether that may help and how long to wait, and the retry
//! policy of a node does it, where it can be seen, bounded and resumed.
//!
//! What is sent is the same text for the same request, so a conversation that goes on begins with what was sent
//! before, and the provider's cache finds it. An [`ApiKey`] is in no error, no log and no checkpoint.
//!
//! ```text
//! ModelRequest ──▶ request ──▶ transport ──▶ bytes ──▶ sse ──▶ reader ──▶ ModelEvent, ModelEvent, …
//!                                  └── status ──▶ refusal ──▶ ModelError
//! ```

#![forbid(unsafe_code)]

mod anthropic;
mod api_key;
mod base_url;
mod error;
mod names;
mod openai;
mod openai_chat;
mod openai_embedder;
mod openai_responses;
mod output_schema;
mod overflow;
mod refusal;
mod reply_stream;
mod sendable;
mod sse;
mod tool_schema;
#[cfg(test)]
mod transcripts;
mod transport;
mod transport_options;
mod wording;

pub use anthropic::{Anthropic, Caching, Thinking};
pub use api_key::ApiKey;
pub use error::ProviderError;
pub use openai_chat::{InstructionRole, OpenAiChat, OutputLimit};
pub use openai_embedder::OpenAiEmbedder;
pub use openai_responses::{OpenAiResponses, Reasoning};
pub use transport_options::TransportOptions;
