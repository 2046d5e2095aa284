//! The state of an agentic loop.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::{Append, KeyedLog, Sum};
use superstep_core::state::State;

use crate::NextAction;
use crate::compaction::Compaction;
use crate::message::{Message, MessageLog};
use crate::model::{Ledger, StopReason};
use crate::verification::{Verdict, Verification};

/// The state of an [`agentic`](super::agentic()) graph.
///
/// A thread is a conversation of several turns: each run with a new input, made with [`ask`](Self::ask), is one. `messages`,
/// `compactions`, `verifications` and `ledger` grow over all turns, and `user_id` stays; the others are about the current one. What is not there in
/// Missing fields of JSON have their defaults, so states without the later fields can be read.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgenticState {
    /// The conversation. Nothing is taken out of it but responses that were refused.
    #[reducer(KeyedLog)]
    pub messages: MessageLog,
    /// The next action for the request.
    pub next_action: Option<NextAction>,
    /// The id of the user; it is kept in later turns until another is given.
    pub user_id: Option<String>,
    /// By what those who ask know this turn.
    pub request_id: Option<String>,
    /// The confidence of the router, from 0 to 1.
    pub routing_confidence: Option<f64>,
    /// The reason for the router's decision.
    pub reasoning: Option<String>,
    /// True if the conversation was compacted in this turn; absent before that was checked.
    pub compaction_applied: Option<bool>,
    /// The number of messages of the conversation at that check.
    pub original_message_count: Option<u32>,
    /// True if the last response was accepted; absent if it was not judged.
    pub verification_passed: Option<bool>,
    /// The score of the last response, from 0 to 1; absent if it was not judged.
    pub verification_score: Option<f64>,
    /// The feedback on the last response.
    pub verification_feedback: Option<String>,
    /// The number of responses of this turn that were refused and refined.
    pub refinement_attempts: Option<u32>,
    /// The request of this turn. It becomes a message of the user when the turn begins.
    pub user_request: Option<String>,
    /// The turn of the conversation, from 1.
    #[reducer(Sum)]
    pub turn: u32,
    /// The number of responses made in this turn.
    pub responses: u32,
    /// The stop reason of the last response; absent if tools led to it.
    pub stop: Option<StopReason>,
    /// The compactions of the conversation, for the parts that models are no longer shown.
    #[reducer(KeyedLog)]
    pub compactions: Vec<Compaction>,
    /// All verifications, with the responses.
    #[reducer(Append)]
    pub verifications: Vec<Verification>,
    /// The model calls of the conversation.
    #[reducer(Sum)]
    pub ledger: Ledger,
}

impl AgenticState {
    /// Makes the input that begins a turn, on a new thread or on one that has a conversation.
    ///
    /// Further fields can be set on it: `AgenticState::ask("..").user_id("u1".to_owned())`. A request with more than text,
    /// such as a picture, is also given as a message with the same text: `.messages([message])`.
    pub fn ask(request: impl Into<String>) -> AgenticStateUpdate {
        Self::update()
            .set_next_action(None)
            .set_request_id(None)
            .set_routing_confidence(None)
            .set_reasoning(None)
            .set_compaction_applied(None)
            .set_original_message_count(None)
            .set_verification_passed(None)
            .set_verification_score(None)
            .set_verification_feedback(None)
            .set_refinement_attempts(None)
            .set_user_request(Some(request.into()))
            .turn(1)
            .responses(0)
            .set_stop(None)
    }

    /// Returns the response of this turn, accepted or not; nothing if there is none yet.
    pub fn response(&self) -> Option<Cow<'_, str>> {
        // Each refinement has taken one out.
        let is_there = self.responses > self.refinement_attempts.unwrap_or(0);
        let said = self.messages.iter().rev().find(|message| matches!(message, Message::Ai(_)));
        said.filter(|_| is_there).map(Message::text)
    }

    /// Returns the verdict on the response; match it before you show the response.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.verifications, self.turn)
    }
}
