//! Graphs that are ready to run, made of the nodes in [`node`](crate::node).
//!
//! | graph | what it does |
//! |---|---|
//! | [`evaluator`](evaluator()) | an agent with tools whose responses are evaluated, ranked and decided on |

mod evaluator;

pub use evaluator::{
    AgentState, AgentStateUpdate, DEFAULT_MAX_ITERATIONS, EvaluatorConfig, EvaluatorGraph, evaluator,
};
