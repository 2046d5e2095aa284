//! The node that works on the task.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::route::Route;
use superstep_core::state::{Field, State};

use super::CallCost;
use super::conversation::{correction, ends_with_response, shown};
use super::events::{ConversationLength, Reasoning};
use super::fields::{CompactionsField, MessagesField, all, appended, turn_of};
use super::model_calls::{ModelCalls, failure};
use super::streaming::EarlyCalls;
use super::tally::{Tallies, Tally};
use super::tool_runner::{Answer, ToolRunner, ToolTask};
use super::tools::Tools;
use super::turn_judgements::TurnEvaluation;
use crate::compaction;
use crate::message::{AiMessage, Message, MessageId};
use crate::model::{ChatModel, Ledger, ModelRequest, Purpose, Settings, StopReason, ToolChoice, Usage};
use crate::tool::{ToolRegistry, ToolSpec};
use crate::verification::Verification;

/// The node that asks a model for the next step of a task: it shows the conversation to the model and appends the
/// model's reply.
///
/// Each visit appends exactly one AI message and adds 1 to the iteration, also on visits that only ask for
/// tools. See [`AgentNext`] for where it leads.
pub struct Agent<S: State> {
    model: Arc<dyn ChatModel>,
    messages: MessagesField<S>,
    iteration: Field<S, u32>,
    tools: Vec<ToolSpec>,
    early: Option<ToolRunner>,
    tool_choice: ToolChoice,
    system: Option<String>,
    settings: Settings,
    task: Option<Field<S, String>>,
    max_iterations: Option<Field<S, u32>>,
    takes_response: bool,
    evaluations: Option<Field<S, Vec<TurnEvaluation>>>,
    compactions: Option<CompactionsField<S>>,
    verifications: Option<Field<S, Vec<Verification>>>,
    turn: Option<Field<S, u32>>,
    tallies: Tallies<S>,
    name: Option<String>,
    stop: Option<Field<S, Option<StopReason>>>,
    last_usage: Option<Field<S, Usage>>,
    log: Option<Field<S, Vec<CallCost>>>,
}

impl<S: State> Agent<S> {
    /// Makes an agent that continues `messages` and counts its visits in `iteration`.
    pub fn new(model: Arc<dyn ChatModel>, messages: MessagesField<S>, iteration: Field<S, u32>) -> Self {
        Self {
            model,
            messages,
            iteration,
            tools: Vec::new(),
            early: None,
            tool_choice: ToolChoice::default(),
            system: None,
            settings: Settings::default(),
            task: None,
            max_iterations: None,
            takes_response: false,
            evaluations: None,
            compactions: None,
            verifications: None,
            turn: None,
            tallies: Tallies::none(),
            name: None,
            stop: None,
            last_usage: None,
            log: None,
        }
    }

    /// Tells the model of these tools.
    #[must_use]
    pub fn tools(mut self, tools: &ToolRegistry) -> Self {
        self.tools = tools.specs();
        self
    }

    /// Tells the model of the tools of this node, and has calls begin while the model still speaks: each as soon as its
    /// input is complete. Their answers are appended behind the AI message, in the order of the calls; those calls that
    /// are left the [`Tools`] node makes.
    ///
    /// Only calls that [change nothing](crate::tool::ToolEffect::ReadOnly) begin early, up to the first that does: a
    /// reply that breaks off is asked for again, and the other one may not ask for the same. The calls begin and wait
    /// for each other as the node's [policy](Tools::policy) says.
    #[must_use]
    pub fn stream_tools(mut self, node: &Tools<S>) -> Self {
        let runner = node.runner().clone();
        self.tools = runner.specs();
        self.early = Some(runner);
        self
    }

    /// Says which of its tools the model may ask for. With [`ToolChoice::None`] the request still lists them, as the
    /// conversation may mention them. A call that the model makes all the same is not run: an error answers it, and the
    /// agent has responded.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Gives the model standing instructions.
    #[must_use]
    pub fn system(mut self, instructions: impl Into<String>) -> Self {
        self.system = Some(instructions.into());
        self
    }

    /// Says how the model is to answer.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Emits the text of the model, as a whole, as a [`Reasoning`] event: on each visit whose reply has a text, before
    /// the
    /// [`Tools`] node calls any tool. The name is the agent's, for observers of several agents.
    #[must_use]
    pub fn tell_reasoning(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Begins a turn with its task: on a visit at iteration 0 the task is appended as a human message before
    /// the model is asked, unless the conversation ends with a human message already.
    #[must_use]
    pub fn task(mut self, task: Field<S, String>) -> Self {
        self.task = Some(task);
        self
    }

    /// Limits the visits: tools that the model asks for on the last one are not run. Each such call is answered by an
    /// error with that reason, as an open call would make the next model request invalid.
    #[must_use]
    pub fn limit(mut self, max_iterations: Field<S, u32>) -> Self {
        self.max_iterations = Some(max_iterations);
        self
    }

    /// Takes a response that is there: a visit asks no model, and only counts, if the conversation ends with an AI
    /// message that asks for no tools.
    #[must_use]
    pub fn take_response(mut self) -> Self {
        self.takes_response = true;
        self
    }

    /// Shows the model the evaluator's feedback on those of its responses that were followed by another iteration. This
    /// is part of the request only; the conversation that is kept does not have it.
    #[must_use]
    pub fn feedback(mut self, evaluations: Field<S, Vec<TurnEvaluation>>) -> Self {
        self.evaluations = Some(evaluations);
        self
    }

    /// Shows the model the conversation in short, as the compactions in this field say: see
    /// [`Compact`](super::Compact).
    #[must_use]
    pub fn compacted(mut self, compactions: CompactionsField<S>) -> Self {
        self.compactions = Some(compactions);
        self
    }

    /// Has the model respond again after a response of this turn was [refused](super::Verify): its request ends with a
    /// system message that has the feedback on all refused responses of the turn, and is for the purpose
    /// [`Refiner`](Purpose::Refiner). The conversation that is kept does not have that message.
    #[must_use]
    pub fn corrections(mut self, verifications: Field<S, Vec<Verification>>) -> Self {
        self.verifications = Some(verifications);
        self
    }

    /// Tells the turns of a conversation apart by this count, as [`Verify`](super::Verify::turn) does, so that each has
    /// its own
    /// [corrections](Self::corrections). Without it there is one turn.
    #[must_use]
    pub fn turn(mut self, turn: Field<S, u32>) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Counts the model calls in a field: as [`LlmCalls`](super::LlmCalls), as a [`Ledger`](crate::model::Ledger), or
    /// in both.
    #[must_use]
    pub fn count<T: Tally>(mut self, field: Field<S, T>) -> Self {
        self.tallies.add(field);
        self
    }

    /// Writes why the model ended its reply: a reply that was cut off looks like one that is short.
    #[must_use]
    pub fn stop(mut self, field: Field<S, Option<StopReason>>) -> Self {
        self.stop = Some(field);
        self
    }

    /// Writes the usage of the last call; [`count`](Self::count) adds up all calls.
    #[must_use]
    pub fn last_usage(mut self, field: Field<S, Usage>) -> Self {
        self.last_usage = Some(field);
        self
    }

    /// Appends the cost of each call to a field with the reducer `Append`: its model calls, and the tools that
    /// [`stream_tools`](Self::stream_tools) begins.
    #[must_use]
    pub fn log_calls(mut self, log: Field<S, Vec<CallCost>>) -> Self {
        self.log = Some(log);
        self
    }

    /// Returns the messages with which a turn begins.
    fn opening(&self, state: &S, calls: &ModelCalls) -> Option<Message> {
        let begins = *self.iteration.get(state) == 0
            && !matches!(self.messages.get(state).last(), Some(Message::Human(_)));
        let task = self.task.as_ref().filter(|_| begins)?;
        Some(Message::human(calls.message_id_of("task"), task.get(state).as_str()))
    }

    fn request(&self, state: &S, opening: Option<&Message>) -> ModelRequest {
        let messages = self.messages.get(state);
        let compactions = self.compactions.as_ref().map_or(&[][..], |compactions| compactions.get(state));
        let mut messages = compaction::view(messages, compactions);
        messages.extend(opening.cloned());
        let evaluations = self.evaluations.as_ref().map_or(&[][..], |evaluations| evaluations.get(state));
        let mut request =
            ModelRequest::new(Purpose::Agent, shown(&messages, evaluations)).with_tools(self.tools.clone());
        request.system.clone_from(&self.system);
        request.settings.clone_from(&self.settings);
        request.tool_choice.clone_from(&self.tool_choice);
        let verifications = self.verifications.as_ref().map(|verifications| verifications.get(state));
        let turn = turn_of(self.turn.as_ref(), state);
        if let Some(correction) = verifications.and_then(|held| correction(held, turn)) {
            request.purpose = Purpose::Refiner;
            request.messages.push(correction);
        }
        request
    }

    async fn visit(
        &self,
        state: &S,
        calls: &ModelCalls,
        early: Option<(&ToolRunner, ToolTask)>,
    ) -> Result<Output<S, AgentNext>, NodeError> {
        if self.takes_response && ends_with_response(self.messages.get(state)) {
            tell_length(self.messages.get(state).len(), calls);
            let visit = self.iteration.get(state).saturating_add(1);
            return Ok(Output { update: Some(self.iteration.write(visit)), route: AgentNext::Respond });
        }
        let opening = self.opening(state, calls);
        let request = self.request(state, opening.as_ref());
        let visit = self.iteration.get(state).saturating_add(1);
        let limit =
            self.max_iterations.as_ref().map(|limit| *limit.get(state)).filter(|limit| visit >= *limit);
        let may_call = limit.is_none() && self.tool_choice != ToolChoice::None;
        let (reply, answers) = match &early {
            Some((tools, task)) if may_call => {
                let early = EarlyCalls::new(tools, task, tools.begin(task), |_, _| Box::pin(ready(true)));
                early.ask(calls, &self.model, request).await?.map_err(failure)?
            }
            _ => (calls.ask(&self.model, request).await?, Vec::new()),
        };
        let cut_off = reply.stop.is_cut_off();
        let stop = self.stop.as_ref().map(|field| field.write(Some(reply.stop.clone())));
        let last_usage = self.last_usage.as_ref().map(|field| field.write(reply.usage));
        let made = calls.made();
        let log = self.log.as_ref().map(|log| log.write(costs(&made, &answers)));
        let said = reply.into_message(calls.message_id());
        if let Some(agent) = &self.name {
            let text = said.content.to_text();
            if !text.trim().is_empty() {
                let (agent, text) = (agent.clone(), text.into_owned());
                calls.emit(Reasoning::EVENT, &Reasoning { agent, text });
            }
        }
        let id = |position: usize| calls.message_id_of(position);
        let (next, answers) = match limit {
            _ if said.tool_calls.is_empty() => (AgentNext::Respond, Vec::new()),
            _ if self.tool_choice == ToolChoice::None => (AgentNext::Respond, skipped(&said, 0, NOT_NOW, id)),
            Some(limit) => (AgentNext::Respond, skipped(&said, 0, &at_limit(limit), id)),
            None => {
                let rest = if cut_off { skipped(&said, answers.len(), CUT_OFF, id) } else { Vec::new() };
                let answers = answers.into_iter().map(|answer| Message::from(answer.message));
                (AgentNext::RunTools, answers.chain(rest).collect())
            }
        };
        let messages: Vec<_> = opening.into_iter().chain([said.into()]).chain(answers).collect();
        if next == AgentNext::Respond {
            tell_length(self.messages.get(state).len() + messages.len(), calls);
        }
        let update = [self.messages.write(appended(messages)), self.iteration.write(visit)];
        let counted = self.tallies.writes(&made);
        Ok(Output {
            update: Some(all(update.into_iter().chain(stop).chain(last_usage).chain(log).chain(counted))),
            route: next,
        })
    }
}

fn tell_length(messages: usize, calls: &ModelCalls) {
    calls.emit(ConversationLength::EVENT, &ConversationLength { messages: messages as u64 });
}

/// Returns the costs of the calls of a visit: those of the model, and those of the tools that have answered.
fn costs(made: &Ledger, answers: &[Answer]) -> Vec<CallCost> {
    let asked = made.accounts().map(|(purpose, _, account)| CallCost::Model {
        purpose,
        usage: account.usage,
        elapsed_ms: account.elapsed_ms,
    });
    asked.chain(answers.iter().map(Answer::cost)).collect()
}

/// The answer to the calls of a reply that a limit cut off: none is run, as the missing text may have restricted them.
pub(super) const CUT_OFF: &str =
    "Not run: the reply was cut off before its end. Ask again, for less at once.";

/// The answer to the calls of an agent that may ask for none.
const NOT_NOW: &str = "Not run: no tool may be called any more.";

fn at_limit(limit: u32) -> String {
    format!(
        "Not run: the limit of {limit} {} is reached.",
        if limit == 1 { "iteration" } else { "iterations" }
    )
}

/// Answers the calls that are not run, which are those from this position on, with the reason.
pub fn skipped(said: &AiMessage, from: usize, reason: &str, id: impl Fn(usize) -> MessageId) -> Vec<Message> {
    let answer = |(position, call)| Message::tool_error(id(position), call, reason);
    said.tool_calls.iter().enumerate().skip(from).map(answer).collect()
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Agent<S> {
    type Output = Result<Output<S, AgentNext>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (state, calls) = (Arc::clone(task.state()), ModelCalls::of(&task));
        let early = self.early.as_ref().map(|tools| (tools, ToolTask::of(&task)));
        drop(task);
        self.visit(&state, &calls, early).await
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.messages.id());
        node.writes_field(self.iteration.id());
        if let Some(field) = &self.stop {
            node.writes_field(field.id());
        }
        if let Some(field) = &self.log {
            node.writes_field(field.id());
        }
        if let Some(field) = &self.last_usage {
            node.writes_field(field.id());
        }
        self.tallies.describe(node);
    }
}

impl<S: State> fmt::Debug for Agent<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

/// The next step after an [`Agent`](super::Agent).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentNext {
    /// The model asks for tools, and there are iterations left to use their results. This is also the next step if a
    /// limit cut the reply off: then the calls are answered already, by an error with that reason, and nothing is run.
    RunTools,
    /// The model responded; or it asked for tools at the limit, and they are not run.
    Respond,
}
