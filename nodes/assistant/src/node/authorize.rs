//! The node that decides on calls.

use std::sync::Arc;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Ask, Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::route::Route;
use superstep_nodes::__private::{ModelCalls, ToolRunner, ToolTask, last_request, open_calls};
use superstep_nodes::message::{Message, ToolCall};

use super::gate::now_ms;
use crate::budget::Call;
use crate::config::AssistantConfig;
use crate::permission::{
    CallView, Classification, Decision, Grant, PermissionAnswer, PermissionQuestion, Resolver, Verdict,
    classifier_request,
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
    now_ms: Option<u64>,
    ask: Ask<PermissionQuestion, PermissionAnswer>,
}

/// The outcome for one call.
enum Outcome {
    /// The tool refuses the call as one that makes no sense.
    Refused(String),
    /// The call is decided on.
    Decided(Decision),
    /// A person has to decide.
    Asks(Box<PermissionQuestion>, Decision),
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
            let input = tool.classifier_input(&call.input);
            let answer = self.classification(position, call, input.as_deref(), means).await?;
            decision = permissions.classified(decision, &answer);
        }
        Ok(match decision.verdict {
            Verdict::Ask => {
                let question = permissions.question(&view, &decision, &state.grants);
                Outcome::Asks(Box::new(question), decision)
            }
            Verdict::Allow | Verdict::Deny => Outcome::Decided(decision),
        })
    }

    /// Asks the classifier about a call, if the budget allows it.
    async fn classification(
        &self,
        position: usize,
        call: &ToolCall,
        input: Option<&str>,
        means: &Means,
    ) -> Result<Classification, NodeError> {
        let (config, state, calls) = (&self.config, &means.state, &means.calls);
        let message = calls.message_id_of(format_args!("classify.{position}"));
        let task = last_request(&state.messages);
        let mut request = match classifier_request(message.clone(), &task, &call.name, input) {
            Ok(request) => request,
            Err(unsure) => return Ok(unsure),
        };
        let (model, input_tokens) = (config.small(), config.context.counter.request(&request));
        let worst = Call { model: model.name(), input_tokens, max_output: None };
        match config.may_call(state, calls, means.now_ms, worst) {
            Ok(most) => request.settings.max_output_tokens = most,
            Err(exceeded) => return Ok(Classification::unsure(exceeded.to_string())),
        }
        Ok(match calls.try_ask(model, request, message).await? {
            Ok(reply) => Classification::read(&reply),
            Err(error) => Classification::unsure(format!("it failed: {error}")),
        })
    }

    /// Asks a person, if one has to decide. The error is the reason for which the tool refuses the call.
    async fn settled(
        &self,
        position: usize,
        call: &ToolCall,
        outcome: Outcome,
        means: &Means,
    ) -> Result<(Decision, Vec<Grant>), String> {
        match outcome {
            Outcome::Refused(reason) => Err(reason),
            Outcome::Decided(decision) => Ok((decision, Vec::new())),
            Outcome::Asks(question, decision) => {
                let key = format!("{position}:{}", call.id);
                let answer = means.ask.ask_as(&key, (*question).clone()).await;
                Ok(question.answered(decision, &answer))
            }
        }
    }

    async fn visit(&self, means: Means) -> Result<Output<AssistantState, AuthorizeNext>, NodeError> {
        let calls = open_calls(&means.state.messages);
        let mut outcomes = Vec::with_capacity(calls.len());
        // One after the other, as each call of the classifier is paid for out of what the earlier ones left.
        for (position, call) in &calls {
            outcomes.push(self.outcome(*position, call, &means).await?);
        }
        let settled = calls.iter().zip(outcomes);
        let settled = settled.map(|((position, call), made)| self.settled(*position, call, made, &means));
        let settled = join_all(settled).await;
        let (mut answers, mut decisions, mut granted, mut allowed) = (vec![], vec![], vec![], vec![]);
        for ((position, call), settled) in calls.iter().zip(settled) {
            let id = means.calls.message_id_of(position);
            let (decision, grants) = match settled {
                Ok(settled) => settled,
                Err(reason) => {
                    answers.push(Message::tool_error(id, call, reason));
                    continue;
                }
            };
            match decision.verdict {
                Verdict::Allow => allowed.push(*position as u32),
                Verdict::Ask | Verdict::Deny => {
                    answers.push(Message::tool_error(
                        id,
                        call,
                        format!("Not permitted: {}", decision.reason),
                    ));
                }
            }
            decisions.push(decision);
            granted.extend(grants);
        }
        let route = if allowed.is_empty() { AuthorizeNext::Gate } else { AuthorizeNext::Run };
        let update = AssistantState::update()
            .messages(answers)
            .decisions(decisions)
            .grants(granted)
            .allowed(allowed)
            .ledger(means.calls.made());
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
            calls: ModelCalls::of(&task).interrupted_by(self.config.interrupts.of(&task.extract())),
            tools: ToolTask::of(&task),
            now_ms: now_ms(&self.config, &task.extract()).await,
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
        node.writes_field(AssistantState::LEDGER.id());
    }
}
