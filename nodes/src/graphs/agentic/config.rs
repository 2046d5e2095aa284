//! The configuration of an agentic loop.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use superstep_core::node::Retry;

use super::settings::AgenticSettings;
use crate::compaction::ContextManager;
use crate::configuration::{Configuration, ConfigurationError};
use crate::message::Message;
use crate::model::{ChatModel, Fallback, Settings, TokenCounter};
use crate::tool::{ExecutionPolicy, ToolRegistry};
use crate::verification::{OutputVerifier, Rule, Score, VerificationCriterion};

/// The configuration of an [`agentic`](super::agentic()) graph: a model, and what differs from the defaults.
#[derive(Clone)]
pub struct AgenticConfig {
    model: Arc<dyn ChatModel>,
    fallbacks: Vec<Arc<dyn ChatModel>>,
    pub(super) judge: Option<Arc<dyn ChatModel>>,
    pub(super) router: Option<Arc<dyn ChatModel>>,
    pub(super) summariser: Option<Arc<dyn ChatModel>>,
    pub(super) tools: ToolRegistry,
    pub(super) policy: ExecutionPolicy,
    pub(super) workspace: Option<PathBuf>,
    pub(super) system: String,
    pub(super) model_settings: Settings,
    pub(super) settings: AgenticSettings,
    pub(super) manager: ContextManager,
    pub(super) verifier: OutputVerifier,
    pub(super) attempts: u32,
}

/// The number of attempts for a call of a model that fails for a reason that may pass.
const ATTEMPTS: u32 = 3;

const INSTRUCTIONS: &str = "You work on requests of a user. Answer the last one, fully and clearly. Use the tools where they help, \
    and name the source of each claim that rests on one. If you do not know something and the tools do not give it, say so rather \
    than guess.";

impl AgenticConfig {
    /// Takes a model, and the defaults for everything else: no tools, compaction and verification as
    /// [`AgenticSettings`] has them, three attempts at a model call that fails for a reason that may pass.
    pub fn new(model: impl ChatModel) -> Self {
        Self {
            model: Arc::new(model),
            fallbacks: Vec::new(),
            judge: None,
            router: None,
            summariser: None,
            tools: ToolRegistry::new(),
            policy: ExecutionPolicy::default(),
            workspace: None,
            system: INSTRUCTIONS.to_owned(),
            model_settings: Settings::default(),
            settings: AgenticSettings::default(),
            manager: ContextManager::new(),
            verifier: OutputVerifier::new(),
            attempts: ATTEMPTS,
        }
    }

    /// Asks this model where another one fails, in whatever role, and those before it that were named like this: see
    /// [`Fallback`].
    #[must_use]
    pub fn fallback(mut self, model: impl ChatModel) -> Self {
        self.fallbacks.push(Arc::new(model));
        self
    }

    /// Uses another model to judge responses.
    #[must_use]
    pub fn judge(mut self, model: impl ChatModel) -> Self {
        self.judge = Some(Arc::new(model));
        self
    }

    /// Uses another model to decide whether a request takes tools: a small one will do.
    #[must_use]
    pub fn router(mut self, model: impl ChatModel) -> Self {
        self.router = Some(Arc::new(model));
        self
    }

    /// Uses another model to summarise conversations.
    #[must_use]
    pub fn summariser(mut self, model: impl ChatModel) -> Self {
        self.summariser = Some(Arc::new(model));
        self
    }

    /// Gives the model tools.
    #[must_use]
    pub fn tools(mut self, tools: ToolRegistry) -> Self {
        self.tools = tools;
        self
    }

    /// Runs calls of tools as this policy allows.
    #[must_use]
    pub fn policy(mut self, policy: ExecutionPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the folder that the tools of all threads work in.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Replaces the standing instructions.
    #[must_use]
    pub fn system(mut self, instructions: impl Into<String>) -> Self {
        self.system = instructions.into();
        self
    }

    /// Says how the model is to answer.
    #[must_use]
    pub fn model_settings(mut self, settings: Settings) -> Self {
        self.model_settings = settings;
        self
    }

    /// Takes these settings.
    ///
    /// # Errors
    /// When one is not usable, or two do not fit together.
    pub fn settings(mut self, settings: AgenticSettings) -> Result<Self, ConfigurationError> {
        Configuration::of(settings.clone()).settings()?;
        self.settings = settings;
        Ok(self)
    }

    /// Sets the counter for the tokens of conversations and of the judge's material; by default they are
    /// [estimated](crate::model::RoughTokens).
    #[must_use]
    pub fn counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        let counter = Arc::new(counter);
        self.manager = self.manager.counter(Arc::clone(&counter));
        self.verifier = self.verifier.counter(counter);
        self
    }

    /// Always shows models these messages unchanged, wherever they are: see [`ContextManager::pin`].
    #[must_use]
    pub fn pin(mut self, pins: impl Fn(&Message) -> bool + Send + Sync + 'static) -> Self {
        self.manager = self.manager.pin(pins);
        self
    }

    /// Verifies responses by this rule, too: before a judge is asked.
    #[must_use]
    pub fn rule(mut self, rule: impl Rule + 'static) -> Self {
        self.verifier = self.verifier.rule(rule);
        self
    }

    /// Asks the judge about these criteria alone.
    #[must_use]
    pub fn criteria(mut self, criteria: impl IntoIterator<Item = VerificationCriterion>) -> Self {
        self.verifier = self.verifier.criteria(criteria);
        self
    }

    /// Verifies by rules alone: no judge is asked.
    #[must_use]
    pub fn without_judge(mut self) -> Self {
        self.verifier = self.verifier.without_judge();
        self
    }

    /// Tries a model call so often that fails for a reason that may pass; once in any case.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    pub(super) fn context_manager(&self) -> ContextManager {
        let AgenticSettings { compaction_threshold, target_after_compaction, recent_message_count, .. } =
            self.settings;
        self.manager
            .clone()
            .threshold(compaction_threshold)
            .target(target_after_compaction)
            .recent(recent_message_count)
    }

    pub(super) fn output_verifier(&self) -> OutputVerifier {
        let threshold = Score::new(self.settings.verification_quality_threshold);
        self.verifier
            .clone()
            .threshold(threshold.expect("settings are checked when they are taken"))
            .mode(self.settings.verification_mode)
            // A judge is shown no more of them than a model is of a conversation.
            .source_tokens(self.settings.compaction_threshold)
            .on_judge_error(self.settings.on_judge_error)
    }

    pub(super) fn retry(&self) -> Retry {
        Retry::exponential(self.attempts)
    }

    /// The model of a role, or the one for everything, with those that are asked where it fails.
    pub(super) fn model_of(&self, role: Option<&Arc<dyn ChatModel>>) -> Arc<dyn ChatModel> {
        let model = Arc::clone(role.unwrap_or(&self.model));
        if self.fallbacks.is_empty() {
            return model;
        }
        Arc::new(self.fallbacks.iter().cloned().fold(Fallback::new(model), Fallback::or))
    }
}

impl fmt::Debug for AgenticConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgenticConfig")
            .field("model", &self.model.name())
            .field("tools", &self.tools)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
