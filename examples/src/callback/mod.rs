//! An agent that reports its steps.

mod config;
mod graph;
mod iteration;
mod state;

pub use config::CallbackConfig;
pub use graph::{CallbackGraph, callback};
pub use iteration::{AddedTokens, IterationCost};
pub use state::{
    AnsweredCall, CallbackExit, CallbackState, CallbackStateUpdate, DEFAULT_CALLBACK_ITERATIONS,
};
