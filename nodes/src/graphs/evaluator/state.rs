//! The state of an evaluator graph.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::{Append, KeyedLog, Sum};
use superstep_core::state::State;

use crate::message::MessageLog;
use crate::node::{LlmCalls, TurnEvaluation, TurnRanking, Unjudged};

/// The default for the maximum number of visits of the agent in a turn.
pub const DEFAULT_MAX_ITERATIONS: u32 = 5;

/// The state of an [`evaluator`](super::evaluator()) graph.
///
/// A thread is a conversation of several turns: each run with a new input, made with [`ask`](Self::ask), is
/// one. `messages`, `evaluations`, `rankings` and `unjudged` grow over all turns; `iteration`, `response` and `llm_calls`
/// are about the current one. An evaluation or a ranking names its turn.
#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentState {
    /// The task of this turn. The agent's first visit adds it to the messages.
    pub task: String,
    /// The conversation.
    #[reducer(KeyedLog)]
    pub messages: MessageLog,
    /// The evaluations, one entry per visit of the evaluator.
    #[reducer(Append)]
    pub evaluations: Vec<TurnEvaluation>,
    /// The rankings, one entry per visit of the ranker.
    #[reducer(Append)]
    pub rankings: Vec<TurnRanking>,
    /// The final response of this turn; nothing until the decider sets it.
    pub response: Option<String>,
    /// The turn of the conversation, from 1; 0 for one that began with a whole state as input.
    #[reducer(Sum)]
    pub turn: u32,
    /// The number of visits of the agent in this turn; visits that only ask for tools count.
    pub iteration: u32,
    /// The maximum number of visits in a turn.
    pub max_iterations: u32,
    /// The model calls of this turn.
    #[reducer(Sum)]
    pub llm_calls: LlmCalls,
    /// The evaluations and rankings that the judge failed to give.
    #[reducer(Append)]
    #[serde(default)]
    pub unjudged: Vec<Unjudged>,
}

impl Default for AgentState {
    fn default() -> Self {
        Self {
            task: String::new(),
            messages: MessageLog::new(),
            evaluations: Vec::new(),
            rankings: Vec::new(),
            response: None,
            turn: 0,
            iteration: 0,
            max_iterations: DEFAULT_MAX_ITERATIONS,
            llm_calls: LlmCalls::default(),
            unjudged: Vec::new(),
        }
    }
}

impl AgentState {
    /// Makes the input that begins a turn, on a new thread or on one that has a conversation.
    ///
    /// Further fields can be set on it: `AgentState::ask("..").max_iterations(3)`. The limit then holds
    /// for later turns of the thread too.
    pub fn ask(task: impl Into<String>) -> AgentStateUpdate {
        Self::update()
            .task(task.into())
            .turn(1)
            .iteration(0)
            .set_response(None)
            .set_llm_calls(LlmCalls::default())
    }
}
