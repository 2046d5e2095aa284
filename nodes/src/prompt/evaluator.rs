//! The prompt of the evaluator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Evidence, ReplyError, material};
use crate::Evaluation;
use crate::message::MessageId;
use crate::model::{ModelReply, ModelRequest, OutputFormat, Purpose};

/// Asks a model to judge one response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluatorPrompt {
    /// The task.
    pub task: String,
    /// The iteration that gave the response.
    pub iteration: u32,
    /// The response.
    pub response: String,
    /// The evidence for the response.
    pub evidence: Vec<Evidence>,
}

const INSTRUCTIONS: &str = "You judge a response to a task. Judge only what is written: whether it does all \
    that the task asks for, and whether what it claims is borne out by the evidence, if there is any. A \
    response that rightly says that the evidence does not answer the task is a good response. Give a score \
    from 0 (useless) to 1 (nothing to improve), say whether the response is complete, and tell in one or two \
    sentences what is missing or wrong. Repeat the iteration you were given. Answer with JSON only.";

impl EvaluatorPrompt {
    /// Makes the request; the id is that of its one message.
    pub fn to_request(&self, id: impl Into<MessageId>) -> ModelRequest {
        let message = material::message(id.into(), "Judge this response.", self);
        ModelRequest::new(Purpose::Evaluator, vec![message])
            .with_system(INSTRUCTIONS)
            .with_output(OutputFormat::json::<Evaluation>())
    }

    /// Reads the model's reply.
    ///
    /// # Errors
    ///
    /// Fails if the reply is no evaluation of this response.
    pub fn read(&self, reply: &ModelReply) -> Result<Evaluation, ReplyError> {
        let evaluation: Evaluation = material::parse(reply)?;
        if evaluation.iteration != self.iteration {
            return Err(ReplyError::OtherIteration { expected: self.iteration, found: evaluation.iteration });
        }
        if !(0.0..=1.0).contains(&evaluation.score) {
            return Err(ReplyError::Score { score: evaluation.score });
        }
        Ok(evaluation)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt() -> EvaluatorPrompt {
        EvaluatorPrompt {
            task: "Say ```json\n{}\n``` twice".into(),
            iteration: 2,
            response: "```json\n{}\n```\n```json\n{}\n```".into(),
            evidence: vec![Evidence { tool: "t".into(), output: "\"quoted\"\n```".into() }],
        }
    }

    fn read(text: &str) -> Result<Evaluation, ReplyError> {
        prompt().read(&ModelReply::new("m", text))
    }

    #[test]
    fn the_material_can_be_read_back_from_the_request() {
        let request = prompt().to_request("m");
        assert_eq!(super::super::material::<EvaluatorPrompt>(&request), Some(prompt()));
    }

    #[test]
    fn a_reply_is_read_with_or_without_a_fence() {
        let json = json!({ "iteration": 2, "score": 0.5, "complete": false, "feedback": "f" }).to_string();
        assert_eq!(read(&json).unwrap().score, 0.5);
        assert_eq!(read(&format!("```json\n{json}\n```\n")).unwrap(), read(&json).unwrap());
    }

    #[test]
    fn a_reply_that_is_no_evaluation_is_an_error() {
        assert!(matches!(read("Looks good to me!"), Err(ReplyError::Form { .. })));
        let other = json!({ "iteration": 1, "score": 0.5, "complete": false, "feedback": "f" }).to_string();
        assert_eq!(read(&other), Err(ReplyError::OtherIteration { expected: 2, found: 1 }));
        let high = json!({ "iteration": 2, "score": 7, "complete": false, "feedback": "f" }).to_string();
        assert_eq!(read(&high), Err(ReplyError::Score { score: 7.0 }));
    }
}
