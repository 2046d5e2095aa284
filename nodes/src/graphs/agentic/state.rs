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
/// JSON is as it is by default, so states without the later fields can be read.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgenticState {
    /// The conversation. Nothing is taken out of it but responses that were refused.
    #[reducer(KeyedLog)]
    pub messages: MessageLog,
    /// How the request is worked on.
    pub next_action: Option<NextAction>,
    /// Who asks; the same one in later turns, until another is named.
    pub user_id: Option<String>,
    /// By what those who ask know this turn.
    pub request_id: Option<String>,
    /// How sure the router was, from 0 to 1.
    pub routing_confidence: Option<f64>,
    /// Why it decided so.
    pub reasoning: Option<String>,
    /// Whether the conversation was compacted in this turn; nothing before that was looked at.
    pub compaction_applied: Option<bool>,
    /// How many messages the conversation had when that was looked at.
    pub original_message_count: Option<u32>,
    /// Whether the last response was accepted; nothing if nobody judged it.
    pub verification_passed: Option<bool>,
    /// How good it is, from 0 to 1; nothing if nobody judged it.
    pub verification_score: Option<f64>,
    /// What was said of it.
    pub verification_feedback: Option<String>,
    /// How many responses of this turn were refused and made anew.
    pub refinement_attempts: Option<u32>,
    /// What is asked for in this turn. It becomes a message of the user at its beginning.
    pub user_request: Option<String>,
    /// The turn of the conversation, from 1.
    #[reducer(Sum)]
    pub turn: u32,
    /// How many responses were made in this turn.
    pub responses: u32,
    /// Why the model ended the last of them; nothing of one that the tools led to.
    pub stop: Option<StopReason>,
    /// What models are no longer shown of the conversation.
    #[reducer(KeyedLog)]
    pub compactions: Vec<Compaction>,
    /// What came of all verifications, with the responses.
    #[reducer(Append)]
    pub verifications: Vec<Verification>,
    /// The model calls of the conversation.
    #[reducer(Sum)]
    pub ledger: Ledger,
}

impl AgenticState {
    /// Makes the input that begins a turn, on a new thread or on one that has a conversation.
    ///
    /// What else is known of it is added: `AgenticState::ask("..").user_id("u1".to_owned())`. A request with more than text, such
    /// as a picture, is given as a message with the same text, too: `.messages([message])`.
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

    /// Returns what became of the response: whoever shows it matches this.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.verifications, self.turn)
    }
}
