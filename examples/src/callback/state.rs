//! The state of a callback graph.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::reducer::{Append, KeyedLog, Sum};
use superstep::state::State;

use superstep::nodes::message::{AiMessage, Message, MessageLog, ToolCall, ToolMessage};
use superstep::nodes::model::{Ledger, StopReason};
use superstep::nodes::node::CallCost;

/// The default for the maximum number of model calls of an agent in a run.
pub const DEFAULT_CALLBACK_ITERATIONS: u32 = 15;

/// The state of a [`callback`](super::callback()) graph.
///
/// A thread is a conversation of several runs, each of which begins with an input made with [`ask`](Self::ask).
#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallbackState {
    /// The agent's instructions.
    pub system: String,
    /// The message of the user. The agent's first visit adds it to the messages.
    pub message: String,
    /// The conversation, without the instructions.
    #[reducer(KeyedLog)]
    pub messages: MessageLog,
    /// The number of model calls in this run.
    pub iteration: u32,
    /// The maximum number of model calls in a run.
    pub max_iterations: u32,
    /// The stop reason of the last reply.
    pub stop: Option<StopReason>,
    /// The model calls of all runs.
    #[reducer(Sum)]
    pub ledger: Ledger,
    /// The cost of each model call and each tool call of all runs.
    #[reducer(Append)]
    pub calls: Vec<CallCost>,
}

/// The reason why a run of the agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallbackExit {
    /// The model asked for no more tools.
    EndTurn,
    /// The limit was reached while the model asked for more tools; its last calls were not made.
    MaxTurns,
    /// The last reply is incomplete: it was cut off, or refused; [`CallbackState::stop`] says which.
    CutShort,
}

/// A tool call of the model, and its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnsweredCall<'s> {
    /// The call.
    pub call: &'s ToolCall,
    /// Its result.
    pub result: &'s ToolMessage,
}

impl Default for CallbackState {
    fn default() -> Self {
        Self {
            system: String::new(),
            message: String::new(),
            messages: MessageLog::new(),
            iteration: 0,
            max_iterations: DEFAULT_CALLBACK_ITERATIONS,
            stop: None,
            ledger: Ledger::default(),
            calls: Vec::new(),
        }
    }
}

impl CallbackState {
    /// Makes the input that begins a run, on a new thread or on one that has a conversation.
    pub fn ask(message: impl Into<String>) -> CallbackStateUpdate {
        Self::update().message(message.into()).iteration(0)
    }

    /// Returns the messages of the last run, beginning with the user's; none until the model has answered.
    pub(super) fn last_run(&self) -> &[Message] {
        if self.iteration == 0 {
            return &[];
        }
        let begin = self.messages.iter().rposition(|message| matches!(message, Message::Human(_)));
        &self.messages[begin.unwrap_or_default()..]
    }

    fn last_reply(&self) -> Option<&AiMessage> {
        self.last_run().iter().rev().find_map(|message| match message {
            Message::Ai(reply) => Some(reply),
            _ => None,
        })
    }

    /// Returns the last text of the agent: its answer, or an intermediate text if the limit was reached.
    pub fn final_text(&self) -> String {
        self.last_reply().map(|reply| reply.content.to_text().into_owned()).unwrap_or_default()
    }

    /// Returns the reason why the last run ended; `None` if it has not ended.
    pub fn exit(&self) -> Option<CallbackExit> {
        let asks = !self.last_reply()?.tool_calls.is_empty();
        match (asks, &self.stop) {
            (true, _) => (self.iteration >= self.max_iterations).then_some(CallbackExit::MaxTurns),
            (false, None | Some(StopReason::EndTurn | StopReason::StopSequence)) => {
                Some(CallbackExit::EndTurn)
            }
            (false, Some(_)) => Some(CallbackExit::CutShort),
        }
    }

    /// Returns the calls of the last run that were answered, in order.
    pub fn tool_calls(&self) -> Vec<AnsweredCall<'_>> {
        let (mut answered, mut open) = (Vec::new(), Vec::new());
        for message in self.last_run() {
            match message {
                Message::Ai(reply) => open = reply.tool_calls.iter().collect(),
                Message::Tool(result) => {
                    // Calls with the same id are matched with their results in order.
                    if let Some(at) = open.iter().position(|call| call.id == result.tool_call_id) {
                        answered.push(AnsweredCall { call: open.remove(at), result });
                    }
                }
                _ => {}
            }
        }
        answered
    }

    /// Returns the whole conversation, beginning with the instructions.
    pub fn history(&self) -> Vec<Message> {
        let system = (!self.system.is_empty()).then(|| Message::system("system", self.system.as_str()));
        system.into_iter().chain(self.messages.iter().cloned()).collect()
    }
}
