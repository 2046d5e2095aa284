//! Asking a model for a judgement.

use std::fmt;
use std::sync::Arc;

use superstep_core::error::NodeError;

use super::model_calls::{ModelCalls, failure};
use crate::model::{ATTEMPTS, Attempts, ChatModel, ModelError, ModelReply, ModelRequest};
use crate::prompt::ReplyError;

/// The reason for a missing judgement.
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

/// Asks for a judgement: as [`structured`](crate::model::ChatModelExt::structured) does, with calls that are recorded.
/// Replies of the record are no attempts, so that a run that failed for them asks again when it is resumed. Why there
/// is none is the inner error.
pub(super) async fn judge<T>(
    calls: &ModelCalls,
    model: &Arc<dyn ChatModel>,
    request: ModelRequest,
    read: impl Fn(&ModelReply) -> Result<T, ReplyError>,
) -> Result<Result<T, NoJudgement>, NodeError> {
    let mut attempts = Attempts::new(request, ATTEMPTS, calls.message_id());
    loop {
        let (reply, is_recorded) = match calls.try_ask_again(model, attempts.request()).await? {
            Ok(answered) => answered,
            Err(error) => return Ok(Err(NoJudgement::Model(error))),
        };
        if !is_recorded {
            attempts.count();
        }
        match read(&reply) {
            Ok(judgement) => return Ok(Ok(judgement)),
            Err(error) if attempts.are_used_up() => return Ok(Err(NoJudgement::Reply(error))),
            Err(error) => attempts.correct(reply, error),
        }
    }
}
