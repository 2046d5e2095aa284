//! The trait of all chat models, and the events of their streams.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use super::{Accumulator, ModelError, ModelReply, ModelRequest, StopReason, Usage};
use crate::message::Part;

/// A chat model.
///
/// The trait can be used as `Arc<dyn ChatModel>`. An implementation gives [`stream`](Self::stream); the
/// stream owns all it needs, so it may outlive the borrow of the model.
pub trait ChatModel: Send + Sync + 'static {
    /// Returns the name of the model.
    fn name(&self) -> &str;

    /// Starts a call and returns the output of the model, piece by piece.
    ///
    /// An error is the last item of the stream. A stream without an error ends after a stop event.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;

    /// Makes a call and returns the whole reply.
    ///
    /// # Errors
    ///
    /// Fails with the stream's error, or with [`ModelError::Stream`] if the stream is no complete reply.
    fn complete(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let mut events = self.stream(request);
            let mut reply = Accumulator::new(self.name());
            while let Some(event) = events.next().await {
                reply.push(event?)?;
            }
            Ok(reply.finish()?)
        })
    }
}

impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        (**self).stream(request)
    }

    fn complete(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        (**self).complete(request)
    }
}

/// One piece of a streamed reply.
///
/// Tool calls may be interleaved; `index` tells them apart within one stream, and they are listed in the
/// reply in the order they started in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelEvent {
    /// A model has failed before it said anything, and another is asked in its place: see
    /// [`Fallback`](super::Fallback).
    Fallback {
        /// The name of the model that failed.
        failed: String,
        /// The [kind](super::ModelError::kind) of its error.
        error: String,
    },
    /// The stream begins.
    Start {
        /// The name of the model that answers, which may differ from the one that was asked.
        model: String,
        /// The provider's id of the call, if it gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
    },
    /// More text.
    TextDelta {
        /// The text, to be put directly after what came before.
        text: String,
    },
    /// More of the model's thinking, for people who watch. The thought itself comes as a part, when it is complete.
    ThinkingDelta {
        /// The text, to be put directly after what came before.
        text: String,
    },
    /// A complete part that is no text: a thought, or something that only the provider understands.
    Part {
        /// The part.
        part: Part,
    },
    /// The model begins to ask for a tool.
    ToolCallStart {
        /// The position of the tool call in the stream.
        index: u32,
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// More of the input of a tool call.
    ToolCallInput {
        /// The position of the tool call in the stream.
        index: u32,
        /// JSON text, to be put directly after what came before; need not be valid by itself.
        json: String,
    },
    /// The input of a tool call is complete.
    ToolCallEnd {
        /// The position of the tool call in the stream.
        index: u32,
    },
    /// The usage so far. Numbers are totals: of several events the largest counts, for each field.
    Usage(Usage),
    /// The reply is complete. Only a usage event may follow.
    Stop {
        /// The stop reason.
        reason: StopReason,
    },
}
