//! Asking a model for a judgement.

use std::sync::Arc;

use superstep_core::error::NodeError;

use super::model_calls::ModelCalls;
use crate::message::Message;
use crate::model::{ChatModel, ModelReply, ModelRequest};
use crate::prompt::ReplyError;

/// How often a model is asked for one judgement, at most.
const ATTEMPTS: u32 = 2;

/// Asks for a judgement. A reply that is none is shown to the model with what is wrong with it, once.
pub(super) async fn judge<T>(
    calls: &ModelCalls,
    model: &Arc<dyn ChatModel>,
    mut request: ModelRequest,
    read: impl Fn(&ModelReply) -> Result<T, ReplyError>,
) -> Result<T, NodeError> {
    let mut attempt = 1;
    loop {
        let reply = calls.ask(model, request.clone()).await?;
        let error = match read(&reply) {
            Ok(judgement) => return Ok(judgement),
            Err(error) if attempt >= ATTEMPTS => return Err(NodeError::terminal(error)),
            Err(error) => error,
        };
        let said = Message::ai(calls.message_id_of(format_args!("reply-{attempt}")), reply.content);
        let wrong = Message::human(
            calls.message_id_of(format_args!("again-{attempt}")),
            format!("That cannot be used: {error}. Answer again, in the form that was asked for."),
        );
        request.messages.extend([said, wrong]);
        attempt += 1;
    }
}
