//! The responses of a turn, to be compared.

use super::conversation::response;
use super::turn_evaluation::TurnEvaluation;
use crate::message::Message;
use crate::prompt::Candidate;

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
