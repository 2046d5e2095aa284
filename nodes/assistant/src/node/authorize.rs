//! The node that decides on calls.

use std::convert::Infallible;
use std::sync::Arc;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{
    Ask, Effects, FromTask, Node, NodeDescription, OnUnknown, Output, Task, TaskInfo,
};
use superstep_core::route::Route;
use superstep_core::run::CancellationToken;
use superstep_nodes::__private::{ModelCalls, ToolRunner, ToolTask, open_calls};
use superstep_nodes::message::{Message, ToolCall};
use superstep_nodes::tool::{Permission, PermissionMatcher, Tool, ToolContext, ToolSession};

use super::gate::now_ms;
use super::hooks::{Heard, call_hook};
use super::session_calls::{SessionAnswer, SessionAsks};
use super::turn::STOPPED;
use crate::agents::AgentTool;
use crate::budget::Call;
use crate::config::AssistantConfig;
use crate::exit::Exit;
use crate::hook::{CallAnswer, CallEvent};
use crate::permission::{
    CallView, Classification, Decision, Grant, HookVerdict, Layer, NOT_PERMITTED, PermissionAnswer,
    PermissionQuestion, Resolver, Verdict, classifier_request,
};
use crate::plan::{PlanAnswer, PlanQuestion, SessionCall, UserQuestion};
use crate::state::{AssistantState, AssistantStateUpdate};

/// The node that decides on the calls of the last reply before any of them is made. All its questions are open at once. A
/// call that is denied is answered with the reason; the others are listed in the state, and `tools` makes only those.
pub(crate) struct Authorize {
    config: Arc<AssistantConfig>,
    runner: ToolRunner,
    agents: Option<AgentTool>,
}

/// The next step after `authorize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorizeNext {
    /// Calls are made, and then agents started.
    Run,
    /// Agents are started.
    Delegate,
    /// Every call is answered already.
    Gate,
    /// A hook ended the run, or the user stopped the turn. Every call is answered.
    Stopped,
}

/// The most agents that the calls of one reply start.
pub(crate) const MAX_AGENTS: usize = 16;

/// The answer to a call that would start another one.
const TOO_MANY: &str =
    "Not run: at most 16 agents are started at once. Ask for the others when these have answered.";

/// The means of a task to decide.
struct Means {
    state: Arc<AssistantState>,
    calls: ModelCalls,
    tools: ToolSession,
    effects: Effects,
    now_ms: Option<u64>,
    ask: Ask<PermissionQuestion, PermissionAnswer>,
    session: SessionAsks,
    info: TaskInfo,
    stop: CancellationToken,
}

/// A call whose tool finds that it makes sense, and the verdicts of hooks on it.
struct Checked {
    tool: Arc<dyn Tool>,
    matcher: Option<PermissionMatcher>,
    check: Permission,
    hooks: Vec<HookVerdict>,
}

impl Checked {
    fn view<'c>(&'c self, call: &'c ToolCall) -> CallView<'c> {
        let is_read_only = self.tool.is_read_only(&call.input);
        CallView {
            call,
            is_read_only,
            matcher: self.matcher.as_ref(),
            check: &self.check,
            hooks: &self.hooks,
        }
    }
}

/// A call at first sight, and after the decision on it.
enum Found<C> {
    Call(C),
    /// A call of a tool of the session itself.
    Session(Result<SessionCall, String>),
    /// The call makes no sense.
    Refused(String),
}

/// The outcome for a call.
enum Outcome {
    Decided(Decision, Vec<Grant>),
    Answered(SessionAnswer),
    Refused(String),
}

/// The calls of the last reply, each with its position.
type Calls = [(usize, ToolCall)];

/// The end of the run, with the answer to the calls that are not made.
struct Ended {
    exit: Exit,
    reason: String,
}

impl Authorize {
    pub(crate) fn new(config: &Arc<AssistantConfig>, runner: &ToolRunner) -> Self {
        Self { config: Arc::clone(config), runner: runner.clone(), agents: config.agent_tool() }
    }

    /// Asks the tool and the hooks about a call.
    async fn check(&self, position: usize, call: &ToolCall, means: &Means) -> Result<Found<Checked>, Ended> {
        let key = format!("{position}:{}", call.id);
        let (tool, check) = match checked(&self.runner, &means.effects, &means.tools, call, key).await {
            Ok(checked) => checked,
            Err(refused) => return Ok(Found::Refused(refused)),
        };
        if let Some(tool) = self.config.session_tool(&call.name) {
            return Ok(Found::Session(tool.read(call)));
        }
        let matcher = tool.permission_matcher(&call.input);
        let mut checked = Checked { tool, matcher, check, hooks: Vec::new() };
        let mode = means.state.mode;
        let without_hooks = self.config.permissions.decide(&checked.view(call), mode, &means.state.grants);
        // No hook lifts a deny of layers 1 to 3, so none is asked.
        if without_hooks.verdict == Verdict::Deny && without_hooks.layer != Layer::Mode {
            return Ok(Found::Call(checked));
        }
        let event = CallEvent {
            task: &means.state.task(),
            tool: &call.name,
            input: &call.input,
            is_read_only: checked.tool.is_read_only(&call.input),
            mode,
            workspace: self.config.workspace.as_deref(),
        };
        let hooks = self.config.hooks.of_call(call, checked.matcher.as_ref()).enumerate();
        let asked = hooks.map(|(nth, hook)| async move {
            let key = format!("{nth}:{position}:{}", call.id);
            (hook.name().to_owned(), call_hook(&means.effects, key, hook, &event, &means.stop).await)
        });
        for (hook, heard) in join_all(asked).await {
            match heard {
                Heard::Answer(CallAnswer::Pass) => {}
                Heard::Answer(CallAnswer::Decide(verdict, reason)) => {
                    checked.hooks.push(HookVerdict { hook, verdict, reason });
                }
                Heard::Answer(CallAnswer::End(reason)) => {
                    let reason = format!("Not run: the hook {hook} ended the run: {reason}");
                    return Err(Ended { exit: Exit::HookStopped, reason });
                }
                Heard::Stopped => {
                    return Err(Ended { exit: Exit::AbortedTools, reason: STOPPED.to_owned() });
                }
            }
        }
        Ok(Found::Call(checked))
    }

    /// Decides on a call, as far as no person is needed.
    async fn decide(
        &self,
        position: usize,
        call: &ToolCall,
        checked: &Checked,
        means: &Means,
    ) -> Result<Decision, NodeError> {
        let (permissions, state) = (&self.config.permissions, &means.state);
        let decision = permissions.decide(&checked.view(call), state.mode, &state.grants);
        let is_for_classifier = permissions.resolver(&decision, state.mode) == Resolver::Classifier;
        if decision.verdict != Verdict::Ask || !is_for_classifier {
            return Ok(decision);
        }
        let input = checked.tool.classifier_input(&call.input);
        let answer = self.classification(position, call, input.as_deref(), means).await?;
        Ok(permissions.classified(decision, &answer))
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
        let mut request = match classifier_request(message.clone(), &state.task(), &call.name, input) {
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

    /// Asks a person, if one has to decide.
    async fn ask(
        &self,
        position: usize,
        call: &ToolCall,
        checked: &Checked,
        decision: Decision,
        means: &Means,
    ) -> (Decision, Vec<Grant>) {
        if decision.verdict != Verdict::Ask {
            return (decision, Vec::new());
        }
        let permissions = &self.config.permissions;
        let mut question = permissions.question(&checked.view(call), &decision, &means.state.grants);
        question.agent = means.state.delegation.as_ref().map(|task| task.agent.clone());
        let answer = means.ask.ask_as(&format!("{position}:{}", call.id), question.clone()).await;
        question.answered(decision, &answer)
    }

    async fn visit(&self, means: Means) -> Result<Output<AssistantState, AuthorizeNext>, NodeError> {
        let calls = open_calls(&means.state.messages);
        // All hooks are asked before the first question is: one of them may end the run.
        let checks = join_all(calls.iter().map(|(position, call)| self.check(*position, call, &means))).await;
        let checks: Vec<_> = match checks.into_iter().collect() {
            Ok(checks) => checks,
            Err(ended) => return Ok(self.ended(&means, &calls, &ended)),
        };
        let mut decided = Vec::with_capacity(calls.len());
        // One after the other, as each call of the classifier is paid for out of what the earlier ones left.
        for ((position, call), found) in calls.iter().zip(checks) {
            decided.push(match found {
                Found::Call(checked) => {
                    Found::Call((self.decide(*position, call, &checked, &means).await?, checked))
                }
                Found::Session(session) => Found::Session(session),
                Found::Refused(refused) => Found::Refused(refused),
            });
        }
        let means = &means;
        let outcomes = calls.iter().zip(decided).map(|((position, call), decided)| async move {
            match decided {
                Found::Call((decision, checked)) => {
                    let (decision, grants) = self.ask(*position, call, &checked, decision, means).await;
                    Outcome::Decided(decision, grants)
                }
                Found::Session(session) => {
                    let key = format!("{position}:{}", call.id);
                    Outcome::Answered(means.session.answer(&session, &key).await)
                }
                Found::Refused(refused) => Outcome::Refused(refused),
            }
        });
        let outcomes = join_all(outcomes).await;
        Ok(self.written(means, &calls, outcomes))
    }

    /// Writes the outcomes: an answer for each call that is not made, and the others to be made.
    fn written(
        &self,
        means: &Means,
        calls: &Calls,
        outcomes: Vec<Outcome>,
    ) -> Output<AssistantState, AuthorizeNext> {
        let (mut answers, mut decisions, mut granted, mut allowed) = (vec![], vec![], vec![], vec![]);
        let (mut update, mut delegations) = (AssistantState::update(), Vec::new());
        for ((position, call), outcome) in calls.iter().zip(outcomes) {
            let id = means.calls.message_id_of(position);
            match outcome {
                Outcome::Refused(refused) => answers.push(Message::tool_error(id, call, refused)),
                Outcome::Answered(answer) => {
                    answers.push(match answer.is_error {
                        true => Message::tool_error(id, call, answer.text.as_str()),
                        false => Message::tool(id, call, answer.text.as_str()),
                    });
                    update = with_changes(update, answer);
                }
                Outcome::Decided(decision, grants) => {
                    let delegation = || self.agents.as_ref()?.delegation(*position, call);
                    match decision.verdict {
                        Verdict::Allow => match delegation() {
                            Some(_) if delegations.len() == MAX_AGENTS => {
                                answers.push(Message::tool_error(id, call, TOO_MANY));
                            }
                            Some(delegation) => delegations.push(delegation),
                            None => allowed.push(*position as u32),
                        },
                        Verdict::Ask | Verdict::Deny => {
                            let reason = format!("{NOT_PERMITTED}{}", decision.reason);
                            answers.push(Message::tool_error(id, call, reason));
                        }
                    }
                    decisions.push(decision);
                    granted.extend(grants);
                }
            }
        }
        let route = match (allowed.is_empty(), delegations.is_empty()) {
            (false, _) => AuthorizeNext::Run,
            (true, false) => AuthorizeNext::Delegate,
            (true, true) => AuthorizeNext::Gate,
        };
        let update = update.messages(answers).decisions(decisions).grants(granted).allowed(allowed);
        let mut update = update.ledger(means.calls.made());
        if self.agents.is_some() {
            // Also without delegations: a turn that did not end may have left some.
            update = update.set_delegations(delegations).set_results(Vec::new());
        }
        Output { update: Some(update), route }
    }

    /// Answers every call, and ends the run.
    fn ended(&self, means: &Means, calls: &Calls, ended: &Ended) -> Output<AssistantState, AuthorizeNext> {
        self.config.interrupts.end(&means.info);
        let answer = |(position, call): &(usize, ToolCall)| {
            Message::tool_error(means.calls.message_id_of(position), call, ended.reason.as_str())
        };
        let answers: Vec<_> = calls.iter().map(answer).collect();
        let update = AssistantState::update().messages(answers).set_exit(Some(ended.exit));
        Output { update: Some(update), route: AuthorizeNext::Stopped }
    }
}

/// Asks the tool of a call whether it can be made, or returns why not. It is an effect, as the tool may look at files.
pub(super) async fn checked(
    runner: &ToolRunner,
    effects: &Effects,
    session: &ToolSession,
    call: &ToolCall,
    key: String,
) -> Result<(Arc<dyn Tool>, Permission), String> {
    let prepared = runner.prepare(call);
    let tool = prepared.tool().map_err(|refused| refused.to_string())?;
    let context = ToolContext::new(call, session.clone());
    let check = || async {
        Ok::<_, Infallible>(prepared.check(&context).await.map_err(|refused| refused.to_string()))
    };
    // It changes nothing, so it may be made again.
    let Ok(checked) = effects.on_unknown(OnUnknown::Retry).run_keyed("check", key, check).await;
    Ok((Arc::clone(tool), checked?))
}

/// Writes the changes of the state that an answer brings.
fn with_changes(mut update: AssistantStateUpdate, answer: SessionAnswer) -> AssistantStateUpdate {
    if let Some(todo) = answer.todo {
        update = update.todo(todo);
    }
    if let Some(plan) = answer.plan {
        update = update.set_plan(Some(plan));
    }
    match answer.mode {
        Some(mode) => update.mode(mode),
        None => update,
    }
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Authorize {
    type Output = Result<Output<AssistantState, AuthorizeNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        // The first extractors: `describe` names the types of the questions at their positions.
        let (ask, plan, user) = (task.extract(), task.extract(), task.extract());
        let info: TaskInfo = task.extract();
        let (effects, stop): (Effects, _) = (task.extract(), self.config.interrupts.of(&info));
        let now_ms = now_ms(&self.config.meter_of(task.state()), &effects).await;
        let calls = ModelCalls::of(&task).interrupted_by(stop.clone());
        let means = Means {
            ask,
            session: SessionAsks {
                plan,
                user,
                has_person: self.config.permissions.has_person(),
                agent: task.state().delegation.as_ref().map(|task| task.agent.clone()),
            },
            info,
            state: Arc::clone(task.state()),
            calls: self.config.metered(calls, task.state(), now_ms),
            stop,
            tools: self.runner.session(&ToolTask::of(&task)).with_notes(task.state().files.clone()),
            now_ms,
            effects,
        };
        drop(task);
        self.visit(means).await
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        <Ask<PermissionQuestion, PermissionAnswer> as FromTask<AssistantState, C>>::describe(node, 0);
        <Ask<PlanQuestion, PlanAnswer> as FromTask<AssistantState, C>>::describe(node, 1);
        <Ask<UserQuestion, String> as FromTask<AssistantState, C>>::describe(node, 2);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::DECISIONS.id());
        node.writes_field(AssistantState::GRANTS.id());
        node.writes_field(AssistantState::ALLOWED.id());
        node.writes_field(AssistantState::DELEGATIONS.id());
        node.writes_field(AssistantState::RESULTS.id());
        node.writes_field(AssistantState::LEDGER.id());
        node.writes_field(AssistantState::TODO.id());
        node.writes_field(AssistantState::PLAN.id());
        node.writes_field(AssistantState::MODE.id());
        node.writes_field(AssistantState::EXIT.id());
    }
}
