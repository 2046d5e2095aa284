//! The prompt of the ranker.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ReplyError, material};
use crate::message::MessageId;
use crate::model::{ModelReply, ModelRequest, OutputFormat, Purpose};
use crate::{Evaluation, Ranking};

/// Asks a model to compare the latest response with the earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankerPrompt {
    /// The task.
    pub task: String,
    /// The iteration that gave the latest response.
    pub iteration: u32,
    /// All responses so far, the latest among them.
    pub candidates: Vec<Candidate>,
}

const INSTRUCTIONS: &str = "You compare the responses that several iterations gave to one task. Order them \
    from the best to the worst by how well they do what the task asks for; the evaluations are a help, not a \
    verdict. Name the responses by their iterations, each exactly once, name the best one again by itself, and \
    say in one sentence why it is the best. Repeat the iteration you were given. Answer with JSON only.";

impl RankerPrompt {
    /// Makes the request; the id is that of its one message.
    pub fn to_request(&self, id: impl Into<MessageId>) -> ModelRequest {
        let message = material::message(id.into(), "Compare these responses.", self);
        ModelRequest::new(Purpose::Ranker, vec![message])
            .with_system(INSTRUCTIONS)
            .with_output(OutputFormat::json::<Ranking>())
    }

    /// Reads the model's reply.
    ///
    /// # Errors
    ///
    /// Fails if the reply is no ranking of these responses.
    pub fn read(&self, reply: &ModelReply) -> Result<Ranking, ReplyError> {
        let ranking: Ranking = material::parse(reply)?;
        if ranking.iteration != self.iteration {
            return Err(ReplyError::OtherIteration { expected: self.iteration, found: ranking.iteration });
        }
        let sorted = |mut iterations: Vec<u32>| {
            iterations.sort_unstable();
            iterations
        };
        let compared = self.candidates.iter().map(|candidate| candidate.iteration).collect();
        if sorted(ranking.order.clone()) != sorted(compared) {
            return Err(ReplyError::Order { order: ranking.order });
        }
        if ranking.order.first() != Some(&ranking.best) {
            return Err(ReplyError::Best { best: ranking.best });
        }
        Ok(ranking)
    }
}

/// A response that is compared with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// The iteration that gave the response.
    pub iteration: u32,
    /// The response.
    pub response: String,
    /// The evaluation, if there is one.
    pub evaluation: Option<Evaluation>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(order: &[u32], best: u32) -> Result<Ranking, ReplyError> {
        let candidates =
            [1, 2].map(|iteration| Candidate { iteration, response: "r".into(), evaluation: None }).into();
        let ranking = Ranking { iteration: 2, order: order.to_vec(), best, reason: "r".into() };
        let said = serde_json::to_string(&ranking).unwrap();
        RankerPrompt { task: "t".into(), iteration: 2, candidates }.read(&ModelReply::new("m", said))
    }

    #[test]
    fn an_order_has_every_iteration_once_and_begins_with_the_best() {
        assert_eq!(read(&[2, 1], 2).unwrap().order, [2, 1]);
        assert_eq!(read(&[2], 2), Err(ReplyError::Order { order: vec![2] }));
        assert_eq!(read(&[2, 1, 2], 2), Err(ReplyError::Order { order: vec![2, 1, 2] }));
        assert_eq!(read(&[2, 3], 2), Err(ReplyError::Order { order: vec![2, 3] }));
        assert_eq!(read(&[2, 1], 1), Err(ReplyError::Best { best: 1 }));
    }
}
