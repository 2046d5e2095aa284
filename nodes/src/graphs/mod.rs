//! Graphs that are ready to run, made of the nodes in [`node`](crate::node).
//!
//! | graph | what it does |
//! |---|---|
//! | [`evaluator`](evaluator()) | an agent with tools whose responses are evaluated, ranked and decided on |
//! | [`agentic`](agentic()) | a loop that gathers context, acts, verifies its work, and repeats |
//! | [`callback`](callback()) | an agent that calls tools one after the other, and reports its steps |

mod agentic;
mod callback;
mod evaluator;

pub use agentic::{
    AgenticConfig, AgenticGraph, AgenticSettings, AgenticState, AgenticStateUpdate, Canary, Profile,
    UnknownProfile, agentic,
};
pub use callback::{
    AddedTokens, AnsweredCall, CallbackConfig, CallbackEvent, CallbackExit, CallbackGraph, CallbackState,
    CallbackStateUpdate, Callbacks, DEFAULT_CALLBACK_ITERATIONS, IterationCost, callback,
};
pub use evaluator::{
    AgentState, AgentStateUpdate, DEFAULT_MAX_ITERATIONS, EvaluatorConfig, EvaluatorGraph, evaluator,
};
