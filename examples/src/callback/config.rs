//! The configuration of a callback graph.

use std::fmt;
use std::sync::Arc;

use super::state::DEFAULT_CALLBACK_ITERATIONS;
use superstep::nodes::model::{ChatModel, Settings};
use superstep::nodes::tool::ToolRegistry;

/// The configuration of a [`callback`](super::callback()) graph: a model, the agent's instructions, and what differs
/// from the defaults.
#[derive(Clone)]
pub struct CallbackConfig {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) name: String,
    pub(super) system: String,
    pub(super) tools: ToolRegistry,
    pub(super) max_iterations: u32,
    pub(super) settings: Settings,
}

/// The default for the maximum number of tokens of a reply.
const MAX_OUTPUT_TOKENS: u32 = 8_000;

impl CallbackConfig {
    /// Takes a model and the agent's instructions, and the defaults for everything else: no tools, fifteen iterations,
    /// replies of at most 8,000 tokens.
    pub fn new(model: impl ChatModel, system: impl Into<String>) -> Self {
        Self {
            model: Arc::new(model),
            name: "agent".to_owned(),
            system: system.into(),
            tools: ToolRegistry::new(),
            max_iterations: DEFAULT_CALLBACK_ITERATIONS,
            settings: Settings { max_output_tokens: Some(MAX_OUTPUT_TOKENS), ..Settings::default() },
        }
    }

    /// Names the agent, to distinguish it from others.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Gives the agent tools.
    #[must_use]
    pub fn tools(mut self, tools: ToolRegistry) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the maximum number of model calls in a run; at least one is always made. An input may override it for its
    /// thread by writing the field.
    #[must_use]
    pub fn max_iterations(mut self, iterations: u32) -> Self {
        self.max_iterations = iterations;
        self
    }

    /// Sets the settings of model calls.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }
}

impl fmt::Debug for CallbackConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackConfig")
            .field("model", &self.model.name())
            .field("name", &self.name)
            .field("tools", &self.tools)
            .field("max_iterations", &self.max_iterations)
            .finish_non_exhaustive()
    }
}
