//! An evaluation as a state keeps it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Evaluation;
use crate::message::MessageId;

/// An evaluation in a state, with the turn and the message that it judges.
///
/// Iterations are counted from 1 in each turn of a conversation, so only turn and iteration together identify a
/// response. In JSON all fields are members of one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEvaluation {
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// The judged AI message.
    pub message: MessageId,
    /// The judgement.
    #[serde(flatten)]
    pub evaluation: Evaluation,
}
