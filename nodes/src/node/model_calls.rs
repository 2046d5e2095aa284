//! The model calls of one task, as effects.

use std::sync::Arc;

use futures_util::StreamExt;
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, Emit, OnUnknown, Task, TaskInfo};
use superstep_core::state::State;

use super::model_chunk::ModelChunk;
use crate::message::MessageId;
use crate::model::{Accumulator, ChatModel, ModelError, ModelReply, ModelRequest};

/// What a task needs to call a model and to name what it writes.
pub(super) struct ModelCalls {
    effects: Effects,
    emit: Emit,
    info: TaskInfo,
}

impl ModelCalls {
    pub(super) fn of<S: State, C>(task: &Task<S, C>) -> Self {
        let effects: Effects = task.extract();
        Self {
            // A reply that was lost in a crash cost money, but asking again harms nobody.
            effects: effects.on_unknown(OnUnknown::Retry),
            emit: task.extract(),
            info: task.extract(),
        }
    }

    /// Returns the id of the message that this task writes.
    pub(super) fn message_id(&self) -> MessageId {
        MessageId::new(format!("{}.{}", self.info.node(), self.info.step()))
    }

    /// Returns the id of one more message that this task writes.
    pub(super) fn message_id_of(&self, part: impl std::fmt::Display) -> MessageId {
        MessageId::new(format!("{}.{part}", self.message_id()))
    }

    /// Calls the model, or returns its recorded reply. Calls of one task are told apart by their purpose and
    /// their order.
    pub(super) async fn ask(
        &self,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
    ) -> Result<ModelReply, NodeError> {
        let name = format!("model.{}", request.purpose);
        let reply = self.effects.run(&name, || self.converse(model, request)).await;
        reply.map_err(failure)
    }

    async fn converse(
        &self,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
    ) -> Result<ModelReply, ModelError> {
        if !self.emit.is_observed() {
            return model.complete(request).await;
        }
        let purpose = request.purpose;
        let mut events = model.stream(request);
        let mut reply = Accumulator::new(model.name());
        while let Some(event) = events.next().await {
            let event = event?;
            self.emit.message(&ModelChunk { purpose, event: event.clone() });
            reply.push(event)?;
        }
        Ok(reply.finish()?)
    }
}

/// Says whether a failed call is worth another attempt of its node.
fn failure(error: ModelError) -> NodeError {
    match error {
        ModelError::RateLimited { retry_after: Some(wait) } => NodeError::retryable(error).after(wait),
        error if error.is_retryable() => NodeError::retryable(error),
        error => NodeError::terminal(error),
    }
}
