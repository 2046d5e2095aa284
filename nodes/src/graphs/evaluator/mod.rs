//! An agent whose responses are evaluated, ranked and decided on.

mod config;
mod graph;
mod state;

pub use config::EvaluatorConfig;
pub use graph::{EvaluatorGraph, evaluator};
pub use state::{AgentState, AgentStateUpdate, DEFAULT_MAX_ITERATIONS};
