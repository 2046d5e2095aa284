//! An evaluation as a state keeps it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Evaluation;
use crate::message::MessageId;

/// An evaluation as a state keeps it: with the turn and the message that it is about.
///
/// Iterations are counted from 1 in each turn of a conversation, so only turn and iteration together name a
/// response. In JSON all fields stand side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEvaluation {
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// The AI message that was judged.
    pub message: MessageId,
    /// The judgement.
    #[serde(flatten)]
    pub evaluation: Evaluation,
}
