//! A loop that gathers context, acts, verifies its work, and repeats.

mod config;
mod graph;
mod profile;
mod settings;
mod state;
#[cfg(test)]
mod tests;

pub use config::AgenticConfig;
pub use graph::{AgenticGraph, agentic};
pub use profile::{Canary, Profile, UnknownProfile};
pub use settings::AgenticSettings;
pub use state::{AgenticState, AgenticStateUpdate};
