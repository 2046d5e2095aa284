//! An agent that reports its steps.

mod callbacks;
mod config;
mod event;
mod graph;
mod iteration;
mod state;
mod told;

pub use callbacks::Callbacks;
pub use config::CallbackConfig;
pub use event::CallbackEvent;
pub use graph::{CallbackGraph, callback};
pub use iteration::{AddedTokens, IterationCost};
pub use state::{
    AnsweredCall, CallbackExit, CallbackState, CallbackStateUpdate, DEFAULT_CALLBACK_ITERATIONS,
};

#[cfg(test)]
mod tests;
