//! The output of a model, as an event of the run.

use serde::{Deserialize, Serialize};
use superstep_core::run::{EventKind, RunEvent};

use crate::message::MessageId;
use crate::model::{ModelEvent, Purpose};

/// One piece of a model's output, emitted as a message chunk while a run is observed.
///
/// The output of a call whose outcome is taken from the record is emitted again, in pieces of a word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelChunk {
    /// The id of the message that the piece belongs to: that of the message which the state gets, where the reply becomes
    /// one. The calls of one task have different ids.
    pub message: MessageId,
    /// The purpose of the call.
    pub purpose: Purpose,
    /// The event of the model's stream.
    pub event: ModelEvent,
}

impl ModelChunk {
    /// Reads the event of a run; `None` if the event is not a piece of a model's output.
    ///
    /// ```
    /// use superstep_core::run::RunEvent;
    /// use superstep_nodes::model::ModelEvent;
    /// use superstep_nodes::node::ModelChunk;
    ///
    /// fn show(event: &RunEvent) {
    ///     if let Some(ModelChunk { event: ModelEvent::TextDelta { text }, .. }) = ModelChunk::of(event) {
    ///         print!("{text}");
    ///     }
    /// }
    /// ```
    pub fn of(event: &RunEvent) -> Option<Self> {
        match &event.kind {
            EventKind::MessageChunk { chunk, .. } => chunk.decode().ok(),
            _ => None,
        }
    }
}
