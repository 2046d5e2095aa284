//! A verification as a state keeps it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VerificationResult;
use crate::message::MessageId;

/// A verification as a state keeps it, with the response: a field `Vec<Verification>` has the reducer
/// [`Append`](superstep_core::reducer::Append). So no candidate is lost, though [`Refine`](crate::node::Refine) takes
/// those out of the conversation that were refused. In JSON all fields stand side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// The turn of the conversation.
    pub turn: u32,
    /// The number of the candidate in the turn, from 1.
    pub attempt: u32,
    /// The verified AI message.
    pub message: MessageId,
    /// The text of the response.
    pub response: String,
    /// The result.
    #[serde(flatten)]
    pub result: VerificationResult,
}

impl Verification {
    /// Returns the verifications of a turn, the first candidate first.
    pub fn of_turn(verifications: &[Self], turn: u32) -> impl DoubleEndedIterator<Item = &Self> {
        verifications.iter().filter(move |verification| verification.turn == turn)
    }

    /// Returns the best candidate of a turn: one in which nothing critical was found before one in which something was,
    /// then the one with the higher score, and of equals the latest.
    pub fn best(verifications: &[Self], turn: u32) -> Option<&Self> {
        let rank = |it: &&Self| (it.result.critical_issues.is_empty(), it.result.score, it.attempt);
        Self::of_turn(verifications, turn).max_by_key(rank)
    }

    /// Tells whether this is the response that was refused, but for white space.
    pub(crate) fn refused(&self, response: &str) -> bool {
        let is_same = || self.response.split_whitespace().eq(response.split_whitespace());
        self.result.requires_refinement() && is_same()
    }
}
