//! A critic of photographs.

mod config;
mod critique;
mod error;
mod graph;
mod photo;
mod prompt;
mod request;
mod settings;
mod state;
mod variables;

pub use config::CriticConfig;
pub use critique::{Critique, TokenUsage};
pub use error::{CriticError, OpenCriticError};
pub use graph::{CriticGraph, critic};
pub use prompt::{COMPOSITION_TOOL, CRITIC_INSTRUCTIONS, CRITIC_PROMPT, composition_tool};
pub use request::{CritiqueImage, critique_image};
pub use settings::{CriticSettings, OnToolError, SettingError, VisionDetail};
pub use state::{CriticExit, CriticState, CriticStateUpdate, MAX_CRITIC_ITERATIONS};
