//! The configuration of an evaluator graph.

use std::fmt;
use std::sync::Arc;

use superstep_core::node::Retry;

use super::state::DEFAULT_MAX_ITERATIONS;
use crate::model::ChatModel;
use crate::tool::ToolRegistry;
use crate::verification::OnJudgeError;

/// The configuration of an [`evaluator`](super::evaluator()) graph: a model, and what differs from the defaults.
#[derive(Clone)]
pub struct EvaluatorConfig {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) judge: Arc<dyn ChatModel>,
    pub(super) tools: ToolRegistry,
    pub(super) stream_tools: bool,
    pub(super) system: String,
    pub(super) max_iterations: u32,
    pub(super) on_judge_error: OnJudgeError,
    pub(super) retry: Retry,
}

const INSTRUCTIONS: &str = "Do what the task asks for. Use the tools where they help, and name the source of \
    each claim that rests on one. If the tools do not give what the task needs, say so rather than guess. When \
    you are done, give the whole response in one message, without asking for more tools.";

impl EvaluatorConfig {
    /// Takes a model, and the defaults for everything else: no tools, five iterations, three attempts at a
    /// model call that fails for a reason that may pass, and responses that cannot be judged are accepted.
    pub fn new(model: impl ChatModel) -> Self {
        let model: Arc<dyn ChatModel> = Arc::new(model);
        Self {
            judge: Arc::clone(&model),
            model,
            tools: ToolRegistry::new(),
            stream_tools: false,
            system: INSTRUCTIONS.to_owned(),
            max_iterations: DEFAULT_MAX_ITERATIONS,
            on_judge_error: OnJudgeError::default(),
            retry: Retry::exponential(3),
        }
    }

    /// Uses another model to evaluate and rank the responses.
    #[must_use]
    pub fn judge(mut self, model: impl ChatModel) -> Self {
        self.judge = Arc::new(model);
        self
    }

    /// Gives the agent tools.
    #[must_use]
    pub fn tools(mut self, tools: ToolRegistry) -> Self {
        self.tools = tools;
        self
    }

    /// Begins calls that change nothing while the reply of the model still arrives: see
    /// [`Agent::stream_tools`](crate::node::Agent::stream_tools).
    #[must_use]
    pub fn stream_tools(mut self) -> Self {
        self.stream_tools = true;
        self
    }

    /// Replaces the agent's standing instructions.
    #[must_use]
    pub fn system(mut self, instructions: impl Into<String>) -> Self {
        self.system = instructions.into();
        self
    }

    /// Sets the maximum number of visits of the agent in a turn; it is visited once in any case. An input may override
    /// it for its thread by writing the field.
    #[must_use]
    pub fn max_iterations(mut self, visits: u32) -> Self {
        self.max_iterations = visits;
        self
    }

    /// Sets the handling of a response that the judge fails to evaluate or to rank, as `ON_JUDGE_ERROR` does for an
    /// [agentic loop](crate::graphs::AgenticSettings::on_judge_error). By default it is
    /// [accepted](OnJudgeError::Accept): the turn ends as it would have, and
    /// [`AgentState::unjudged`](super::AgentState::unjudged) has the reason.
    #[must_use]
    pub fn on_judge_error(mut self, policy: OnJudgeError) -> Self {
        self.on_judge_error = policy;
        self
    }

    /// Sets when and how often a failed model call is tried again.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }
}

impl fmt::Debug for EvaluatorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvaluatorConfig")
            .field("model", &self.model.name())
            .field("judge", &self.judge.name())
            .field("tools", &self.tools)
            .field("max_iterations", &self.max_iterations)
            .field("on_judge_error", &self.on_judge_error)
            .finish_non_exhaustive()
    }
}
