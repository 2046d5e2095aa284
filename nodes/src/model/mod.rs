//! Chat models: a request in, a stream of events out.
//!
//! ```text
//! ModelRequest ──▶ ChatModel::stream ──▶ ModelEvent, ModelEvent, … ──▶ Accumulator ──▶ ModelReply
//!                  └──────────────────── ChatModel::complete ─────────────────────────▶┘
//! ```
//!
//! A model implements streaming only; [`ChatModel::complete`] folds the stream. A stream counts as an
//! answer only if it ends with a stop event: one that breaks off is an error, never a short answer.
//!
//! Requests and replies are plain data that is written to JSON and read back, so that a run can record them and a later
//! one can replay them. Every request has a [`Purpose`], so calls can be counted by it and a [`Scripted`] model can
//! answer each of them differently.
//!
//! [`ChatModelExt::structured`] asks any model for a value of a type. An [`Embedder`] is a model that turns the meanings of
//! texts into numbers, and an [`ImageModel`] is one that makes images.
//!
//! One model is included, for tests and demonstrations: [`Scripted`], which answers with replies written down
//! beforehand.

mod accumulator;
mod by_model;
mod chat_model;
mod embedding;
mod error;
mod failure;
mod fallback;
mod image_model;
mod ledger;
mod prices;
mod reply;
mod request;
mod scripted;
mod settings;
mod structured;
mod tokens;
mod usage;

pub use accumulator::Accumulator;
pub use by_model::ByModel;
pub use chat_model::{ChatModel, ModelEvent};
pub use embedding::{EmbedError, Embedder, Embedding};
pub use error::{ModelError, StreamFault};
pub use failure::ModelFailure;
pub use fallback::Fallback;
pub use image_model::{ImageModel, ImageRequest, ImageShape, MadeImage};
pub use ledger::{Account, Cost, Ledger};
pub use prices::{Price, Prices};
pub use reply::{ModelReply, StopReason};
pub use request::{ModelRequest, OutputFormat, Purpose};
pub use scripted::{Script, Scripted, Turn};
pub use settings::{Effort, Settings, ToolChoice};
pub(crate) use structured::{ATTEMPTS, Attempts, parse};
pub use structured::{ChatModelExt, Structured, StructuredError, StructuredReply};
pub use tokens::{ImageTokens, RoughTokens, TokenCounter, image_tokens};
#[cfg(feature = "tokens")]
pub use tokens::{Tiktoken, UnknownEncoding};
pub use usage::Usage;
