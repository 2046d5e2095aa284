//! The prompt of the decider, for when no iterations are left.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidate, material};
use crate::message::{Conversation, MessageId};
use crate::model::{ModelRequest, Purpose};

/// Asks a model for the final response, when there are no iterations left and none gave a complete one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeciderPrompt {
    /// The task.
    pub task: String,
    /// The responses so far.
    pub candidates: Vec<Candidate>,
    /// The iteration whose response the ranker put first, if it compared any.
    pub best: Option<u32>,
}

const INSTRUCTIONS: &str = "There is no time left to work on the task: what you answer now is final. Use the \
    conversation and the responses so far, the best of them first of all. Answer the task itself and nothing \
    else; if something is missing, say what. Do not ask for tools.";

impl DeciderPrompt {
    /// Makes the request: the conversation so far, then one message with the given id.
    pub fn to_request(
        &self,
        id: impl Into<MessageId>,
        conversation: impl Into<Conversation>,
    ) -> ModelRequest {
        let mut conversation = conversation.into();
        let introduction = "Please provide your final response to the task.";
        conversation.push(material::message(id.into(), introduction, self));
        ModelRequest::new(Purpose::Decider, conversation).with_system(INSTRUCTIONS)
    }
}
