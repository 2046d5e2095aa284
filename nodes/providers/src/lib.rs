//! Models behind a network: clients of the protocols that providers speak.
//!
//! | client | protocol | reaches |
//! |---|---|---|
//! | [`Anthropic`] | Messages | Anthropic, and servers that speak its protocol |
//! | [`OpenAiChat`] | Chat Completions | OpenAI, Ollama, vLLM, llama.cpp, LM Studio, and most other servers |
//! | [`OpenAiResponses`] | Responses | OpenAI |
//!
//! Each is a [`ChatModel`](superstep_nodes::model::ChatModel). Replies are streamed. A reply whose stream breaks off is
//! an error, never a short answer. Unknown events, fields and values that a provider adds are kept or ignored; they
//! cause no error.
//!
//! [`OpenAiEmbedder`] requests embeddings from a model, for a knowledge base; [`OpenAiImages`] requests images.
//!
//! Clients do not retry: their errors say whether a retry may help and how long to wait. The retry policy of a node
//! retries, so retries are visible, bounded and resumed.
//!
//! The same request is always sent as the same text. A longer conversation therefore begins with the text sent before,
//! and the provider's cache finds it. An [`ApiKey`] never appears in an error, a log or a checkpoint.
//!
//! ```text
//! ModelRequest ──▶ request ──▶ transport ──▶ bytes ──▶ sse ──▶ reader ──▶ ModelEvent, ModelEvent, …
//!                                  └── status ──▶ HttpError ──▶ ModelError
//! ```

#![forbid(unsafe_code)]

// The derives name the framework `superstep`, as users do.
#[cfg(test)]
extern crate superstep_core as superstep;

mod anthropic;
mod api_key;
mod base_url;
mod http_error;
mod openai;
mod openai_chat;
mod openai_embedder;
mod openai_images;
mod openai_responses;
mod output_schema;
mod overflow;
mod reply_stream;
mod sendable;
mod sse;
mod tool_schema;
mod transport;
mod transport_options;

pub use anthropic::{Anthropic, Caching, Thinking};
pub use api_key::ApiKey;
pub use openai_chat::{InstructionRole, OpenAiChat, OutputLimit};
pub use openai_embedder::OpenAiEmbedder;
pub use openai_images::OpenAiImages;
pub use openai_responses::{OpenAiResponses, Reasoning};
pub use transport_options::ProviderError;
pub use transport_options::TransportOptions;

#[cfg(test)]
mod tests;
