//! The node that decides on calls.

use std::sync::Arc;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Ask, Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::route::Route;
use superstep_nodes::__private::{ModelCalls, ToolRunner, ToolTask, last_request, open_calls};
use superstep_nodes::message::{Message, ToolCall};

use crate::config::AssistantConfig;
use crate::permission::{
    CallView, Decision, Grant, PermissionAnswer, PermissionQuestion, Resolver, Verdict, classify,
};
use crate::state::AssistantState;

/// The node that decides on the calls of the last reply before any of them is made. All its questions are open at once. A
/// call that is denied is answered with the reason; the others are listed in the state, and `tools` makes only those.
pub(crate) struct Authorize {
    config: Arc<AssistantConfig>,
    runner: ToolRunner,
}

/// The next step after `authorize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorizeNext {
    /// Calls are made.
    Run,
    /// Every call is answered already.
    Gate,
}

/// The means of a task to decide.
struct Means {
    state: Arc<AssistantState>,
    calls: ModelCalls,
    tools: ToolTask,
    effects: Effects,
    ask: Ask<PermissionQuestion, PermissionAnswer>,
}

/// The outcome for one call.
enum Outcome {
    /// The tool refuses the call as one that makes no sense.
    Refused(String),
    /// The call is decided on.
    Decided(Decision, Vec<Grant>),
}

impl Authorize {
    pub(crate) fn new(config: &Arc<AssistantConfig>, runner: &ToolRunner) -> Self {
        Self { config: Arc::clone(config), runner: runner.clone() }
    }

    async fn outcome(&self, position: usize, call: &ToolCall, means: &Means) -> Result<Outcome, NodeError> {
        let context = self.runner.context(&means.tools, call);
        let (tool, check) = match self.runner.prepare(call).check(&context).await {
            Ok(checked) => checked,
            Err(refused) => return Ok(Outcome::Refused(refused.to_string())),
        };
        let matcher = tool.permission_matcher(&call.input);
        let view = CallView {
            call,
            is_read_only: tool.is_read_only(&call.input),
            matcher: matcher.as_ref(),
            check: &check,
            hooks: &[],
        };
        let (permissions, state) = (&self.config.permissions, &means.state);
        let mut decision = permissions.decide(&view, state.mode, &state.grants);
        let is_for_classifier = permissions.resolver(&decision, state.mode) == Resolver::Classifier;
        if decision.verdict == Verdict::Ask && is_for_classifier {
            let model = self.config.small_model.as_ref().unwrap_or(&self.config.model);
            let (task, input) = (last_request(&state.messages), tool.classifier_input(&call.input));
            let classify =
                || async { Ok::<_, NodeError>(classify(model, &task, &call.name, input.as_deref()).await) };
            let answer =
                means.effects.run_keyed("classify", format!("{position}:{}", call.id), classify).await?;
            decision = permissions.classified(decision, &answer);
        }
        if decision.verdict != Verdict::Ask {
            return Ok(Outcome::Decided(decision, Vec::new()));
        }
        let question = permissions.question(&view, &decision, &state.grants);
        let answer = means.ask.ask_as(&format!("{position}:{}", call.id), question.clone()).await;
        let (decision, grants) = question.answered(decision, &answer);
        Ok(Outcome::Decided(decision, grants))
    }

    async fn visit(&self, means: Means) -> Result<Output<AssistantState, AuthorizeNext>, NodeError> {
        let calls = open_calls(&means.state.messages);
        let outcomes =
            join_all(calls.iter().map(|(position, call)| self.outcome(*position, call, &means))).await;
        let (mut answers, mut decisions, mut granted, mut allowed) = (vec![], vec![], vec![], vec![]);
        for ((position, call), outcome) in calls.iter().zip(outcomes) {
            let id = means.calls.message_id_of(position);
            match outcome? {
                Outcome::Refused(reason) => answers.push(Message::tool_error(id, call, reason)),
                Outcome::Decided(decision, grants) => {
                    match decision.verdict {
                        Verdict::Allow => allowed.push(*position as u32),
                        Verdict::Ask | Verdict::Deny => {
                            let reason = format!("Not permitted: {}", decision.reason);
                            answers.push(Message::tool_error(id, call, reason));
                        }
                    }
                    decisions.push(decision);
                    granted.extend(grants);
                }
            }
        }
        let route = if allowed.is_empty() { AuthorizeNext::Gate } else { AuthorizeNext::Run };
        let update =
            AssistantState::update().messages(answers).decisions(decisions).grants(granted).allowed(allowed);
        Ok(Output { update: Some(update), route })
    }
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Authorize {
    type Output = Result<Output<AssistantState, AuthorizeNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        // The first extractor: `describe` names the types of the question at its position.
        let ask = task.extract();
        let means = Means {
            ask,
            state: Arc::clone(task.state()),
            calls: ModelCalls::of(&task),
            tools: ToolTask::of(&task),
            effects: task.extract(),
        };
        drop(task);
        self.visit(means).await
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        <Ask<PermissionQuestion, PermissionAnswer> as FromTask<AssistantState, C>>::describe(node, 0);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::DECISIONS.id());
        node.writes_field(AssistantState::GRANTS.id());
        node.writes_field(AssistantState::ALLOWED.id());
    }
}
