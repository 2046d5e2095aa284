//! The judgements of a turn, as a state keeps them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conversation::response;
use crate::message::{Message, MessageId};
use crate::model::Purpose;
use crate::prompt::Candidate;
use crate::{Evaluation, Ranking};

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

/// A ranking in a state, with the turn whose responses it compares.
///
/// In JSON all fields are members of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnRanking {
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// The comparison.
    #[serde(flatten)]
    pub ranking: Ranking,
}

/// A judgement in a state that a model failed to give; the graph continued without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unjudged {
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// The iteration whose response was to be judged.
    pub iteration: u32,
    /// The judgement that is missing: [`Purpose::Evaluator`] or [`Purpose::Ranker`].
    pub judge: Purpose,
    /// The error of the judge.
    pub reason: String,
}

/// Returns the responses of a turn that were evaluated, in order. A response whose message is no longer in the
/// conversation is left out.
pub(super) fn candidates(messages: &[Message], evaluations: &[TurnEvaluation], turn: u32) -> Vec<Candidate> {
    evaluations
        .iter()
        .filter(|judged| judged.turn == turn)
        .filter_map(|judged| {
            let said = response(messages, &judged.message)?;
            Some(Candidate {
                iteration: judged.evaluation.iteration,
                response: said.content.to_text().into_owned(),
                evaluation: Some(judged.evaluation.clone()),
            })
        })
        .collect()
}
