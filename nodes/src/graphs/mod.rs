//! Graphs that are ready to run, made of the nodes in [`node`](crate::node).
//!
//! | graph | what it does |
//! |---|---|
//! | [`evaluator`](evaluator()) | an agent with tools whose responses are evaluated, ranked and decided on |
//! | [`agentic`](agentic()) | a loop that gathers context, acts, verifies its work, and repeats |

mod agentic;
mod evaluator;

pub use agentic::{
    AgenticConfig, AgenticGraph, AgenticSettings, AgenticState, AgenticStateUpdate, Canary, Profile,
    UnknownProfile, agentic,
};
pub use evaluator::{
    AgentState, AgentStateUpdate, DEFAULT_MAX_ITERATIONS, EvaluatorConfig, EvaluatorGraph, evaluator,
};
