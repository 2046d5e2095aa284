//! Asking a model for a judgement.

use std::fmt;
use std::sync::Arc;

use superstep_core::error::NodeError;

use super::model_calls::{ModelCalls, failure};
use crate::message::Message;
use crate::model::{ChatModel, ModelError, ModelReply, ModelRequest};
use crate::prompt::ReplyError;

/// How often a model is asked for one judgement, at most.
const ATTEMPTS: u32 = 2;

/// Why there is no judgement.
pub(super) enum NoJudgement {
    /// The model could not be asked.
    Model(ModelError),
    /// It was asked, and its replies are none.
    Reply(ReplyError),
}

impl NoJudgement {
    /// Tells whether it is for the node's retry policy to ask again.
    pub(super) fn is_worth_another_attempt(&self, calls: &ModelCalls) -> bool {
        matches!(self, Self::Model(error) if calls.is_worth_another_attempt(error))
    }
}

impl fmt::Display for NoJudgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::Reply(error) => error.fmt(f),
        }
    }
}

impl From<NoJudgement> for NodeError {
    fn from(none: NoJudgement) -> Self {
        match none {
            NoJudgement::Model(error) => failure(error),
            NoJudgement::Reply(error) => Self::terminal(error),
        }
    }
}

/// Asks for a judgement. A reply that is none is shown to the model with what is wrong with it, once. Replies of the record do
/// not count, so that a run that failed for them asks again when it is resumed.
pub(super) async fn judge<T>(
    calls: &ModelCalls,
    model: &Arc<dyn ChatModel>,
    request: ModelRequest,
    read: impl Fn(&ModelReply) -> Result<T, ReplyError>,
) -> Result<T, NodeError> {
    Ok(try_judge(calls, model, request, read).await??)
}

/// As [`judge`], for a node that goes on without a judgement: why there is none is the inner error.
pub(super) async fn try_judge<T>(
    calls: &ModelCalls,
    model: &Arc<dyn ChatModel>,
    mut request: ModelRequest,
    read: impl Fn(&ModelReply) -> Result<T, ReplyError>,
) -> Result<Result<T, NoJudgement>, NodeError> {
    let (mut attempt, mut asked) = (1, 0);
    loop {
        let (reply, is_recorded) = match calls.try_ask_anew(model, request.clone()).await? {
            Ok(reply) => reply,
            Err(error) => return Ok(Err(NoJudgement::Model(error))),
        };
        asked += u32::from(!is_recorded);
        let error = match read(&reply) {
            Ok(judgement) => return Ok(Ok(judgement)),
            Err(error) if asked >= ATTEMPTS => return Ok(Err(NoJudgement::Reply(error))),
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
