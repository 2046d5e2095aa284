//! The events of a streamed reply.

use serde::{Deserialize, Serialize};

use super::{StopReason, Usage};
use crate::message::Part;

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
