//! The node that calls the model.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::try_join;
use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task, TaskInfo};
use superstep_core::reducer::{LogEdit, LogWrite};
use superstep_core::route::Route;
use superstep_nodes::__private::{Answer, ModelCalls, ToolRunner, ToolTask, skipped};
use superstep_nodes::message::{Message, MessageId};
use superstep_nodes::model::{ModelReply, ModelRequest, Purpose, StopReason};
use superstep_nodes::tool::{ToolNotes, ToolOutcome, ToolSpec};

use super::blobs::store;
use super::conversations::{Conversations, Last};
use super::early::Early;
use super::gate::now_ms;
use super::tool_summary::summary;
use crate::budget::{Call, Exceeded};
use crate::config::{AssistantConfig, Speed};
use crate::context::{Anchor, AutoDecision, History, Snip, prepare_after};
use crate::exit::{Exit, Resource, Transition};
use crate::state::{AssistantState, AssistantStateUpdate, TurnFailure};

/// The node that calls the model for the next step of the work.
pub(crate) struct Turn {
    config: Arc<AssistantConfig>,
    runner: ToolRunner,
    tools: Vec<ToolSpec>,
    /// The tokens of a request beside its messages.
    overhead: u64,
    conversations: Conversations,
}

/// The next step after `turn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnNext {
    /// The model asks for tools.
    Calls,
    /// The provider paused the reply, which the model is called again to continue.
    Again,
    /// The conversation is too long, and is compacted first.
    Compact,
    /// The model responded without asking for tools.
    Done,
    /// The call failed, or a limit cut the reply off.
    Failed,
    /// The run ends: the turn was stopped, or no request may be sent. The exit says which.
    Stopped,
}

/// The answer to the calls of a reply that was stopped.
pub(super) const STOPPED: &str = "Not run: the user stopped the turn.";

impl Turn {
    pub(crate) fn new(config: &Arc<AssistantConfig>, runner: &ToolRunner) -> Self {
        let tools = runner.specs();
        let empty = ModelRequest::new(Purpose::Agent, Vec::new()).with_tools(tools.clone());
        let overhead = config.context.counter.request(&empty.with_system(config.system.clone()));
        let (config, runner) = (Arc::clone(config), runner.clone());
        Self { config, runner, tools, overhead, conversations: Conversations::default() }
    }

    /// Makes the request without its messages.
    fn request(&self, state: &AssistantState) -> ModelRequest {
        let mut request = ModelRequest::new(Purpose::Agent, Vec::new()).with_tools(self.tools.clone());
        request.system = Some(self.config.system.clone());
        request.settings.clone_from(&self.config.settings);
        request.settings.max_output_tokens = state.recovery.max_output.or(request.settings.max_output_tokens);
        request.continues = state.transition == Some(Transition::Paused);
        request
    }

    async fn visit(
        &self,
        state: &AssistantState,
        calls: &ModelCalls,
        early: &Early,
        now_ms: Option<u64>,
    ) -> Result<Output<AssistantState, TurnNext>, NodeError> {
        let mut request = self.request(state);
        let compaction = Some(&self.config.compaction);
        let history = History { compaction, ..state.history(self.overhead) };
        let last = self.conversations.take(state);
        let counted = last.as_ref().and_then(Last::counted);
        let prepared = prepare_after(counted, &history, self.config.window(state), &self.config.context);
        if state.task_remaining.is_some_and(|left| prepared.tokens >= left) {
            return Ok(ended(Exit::BudgetExceeded(Resource::Tokens)));
        }
        match prepared.auto {
            AutoDecision::Send | AutoDecision::UnknownWindow => {}
            AutoDecision::Compact => return Ok(Output { update: None, route: TurnNext::Compact }),
            AutoDecision::Block => return Ok(ended(Exit::BlockingLimit)),
        }
        // With a limit it has to be known what the summary costs.
        let is_limited = !self.config.meter_of(state).limits().is_none();
        let summary = || summary(&self.config, state, calls, now_ms);
        let paid = if is_limited { summary().await? } else { None };
        let model = self.config.model_of(state.recovery.switched_model);
        let max_output = request.settings.max_output_tokens;
        let call = Call { model: model.name(), input_tokens: prepared.tokens, max_output };
        match self.config.may_call(state, calls, now_ms, call) {
            Ok(max_output) => request.settings.max_output_tokens = max_output,
            Err(Exceeded(resource)) => return Ok(ended(Exit::BudgetExceeded(resource))),
        }
        request.messages = self.conversations.next(state, last, &prepared);
        let mut update = AssistantState::update().trims(prepared.trims);
        if let Some(snip) = prepared.snip {
            update = snipped(state, update, snip);
        }
        store(&self.config, calls, prepared.blobs).await?;
        let answered = async {
            match self.config.speed {
                Speed::StreamTools => {
                    early.calls(&self.config, &self.runner).ask(calls, model, request).await
                }
                Speed::Whole | Speed::Stream => {
                    let answered = calls.try_ask(model, request, calls.message_id()).await?;
                    Ok(answered.map(|reply| (reply, Vec::new())))
                }
            }
        };
        let summary = async { if is_limited { Ok(paid) } else { summary().await } };
        let (answered, summary) = try_join(answered, summary).await?;
        let update = update.set_tool_summary(summary);
        let update = update.ledger(calls.made()).decisions(early.decisions());
        let (update, route) = match answered {
            Ok((reply, answers)) => {
                let anchor = Anchor::new(calls.message_id(), &reply.usage, prepared.records);
                self.replied(state, calls, reply, answers, update.set_anchor(anchor))
            }
            Err(error) => {
                let learnt = state.windows.learn(model.name(), &error.failure());
                let update = update.set_failure(Some(TurnFailure::Failed(error)));
                (learnt.into_iter().fold(update, |update, windows| update.windows(windows)), TurnNext::Failed)
            }
        };
        Ok(Output { update: Some(update), route })
    }

    /// Takes a reply, and the answers to its first calls.
    fn replied(
        &self,
        state: &AssistantState,
        calls: &ModelCalls,
        reply: ModelReply,
        early: Vec<Answer>,
        update: AssistantStateUpdate,
    ) -> (AssistantStateUpdate, TurnNext) {
        let (stop, is_paused) = (reply.stop.clone(), reply.is_paused());
        let said = reply.into_message(calls.message_id());
        let update = update.set_stop(Some(stop.clone()));
        if stop.failure().is_some() {
            let failure = TurnFailure::CutOff { reply: said, stop };
            return (update.set_failure(Some(failure)), TurnNext::Failed);
        }
        let update = update.turn_count(state.turn_count.saturating_add(1));
        let is_stopped = early.iter().any(|answer| answer.outcome == ToolOutcome::Cancelled);
        let notes: ToolNotes = early.iter().flat_map(|answer| answer.notes.clone()).collect();
        let update = update.files(notes);
        let exit = match stop {
            StopReason::Interrupted => Some(Exit::AbortedStreaming),
            _ => is_stopped.then_some(Exit::AbortedTools),
        };
        let rest =
            exit.map(|_| skipped(&said, early.len(), STOPPED, |position| calls.message_id_of(position)));
        let early = early.into_iter().map(|answer| Message::from(answer.message));
        let answers: Vec<_> = early.chain(rest.into_iter().flatten()).collect();
        if exit.is_some() {
            let update = update.messages([vec![said.into()], answers].concat()).set_exit(exit);
            return (update, TurnNext::Stopped);
        }
        let mut recovery = state.recovery.clone();
        recovery.after_reply();
        let update = update.recovery(recovery);
        let route = match (is_paused, said.tool_calls.is_empty()) {
            (true, _) => TurnNext::Again,
            (false, false) => TurnNext::Calls,
            (false, true) => TurnNext::Done,
        };
        let update = update.messages([vec![said.into()], answers].concat());
        match route {
            TurnNext::Again => (update.set_transition(Some(Transition::Paused)), route),
            _ => (update, route),
        }
    }
}

/// Ends the run without a request.
fn ended(exit: Exit) -> Output<AssistantState, TurnNext> {
    Output { update: Some(AssistantState::update().set_exit(Some(exit))), route: TurnNext::Stopped }
}

/// Takes the oldest messages out of the state.
fn snipped(state: &AssistantState, update: AssistantStateUpdate, snip: Snip) -> AssistantStateUpdate {
    let remove = |message: &Message| LogEdit::Remove(message.id().to_string());
    let messages = if state.messages.len() == snip.messages.len() + snip.snipped {
        let kept: HashSet<&MessageId> = snip.messages.iter().map(Message::id).collect();
        state.messages.iter().filter(|message| !kept.contains(message.id())).map(remove).collect()
    } else {
        // There is a marker now. It is to be the first message, so all are written again.
        let removed = state.messages.iter().map(remove);
        removed.chain(snip.messages.into_iter().map(LogEdit::Put)).collect()
    };
    update
        .messages(LogWrite(messages))
        .compactions(LogWrite::remove(snip.compactions))
        .trims(LogWrite::remove(snip.trims))
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Turn {
    type Output = Result<Output<AssistantState, TurnNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let state = Arc::clone(task.state());
        let info: TaskInfo = task.extract();
        let stop = self.config.interrupts.of(&info);
        let early = Early::new(&state, ToolTask::of(&task), task.extract(), &stop);
        let calls = ModelCalls::of(&task).interrupted_by(stop);
        let calls = if self.config.speed == Speed::Whole { calls.in_one_piece() } else { calls };
        let now_ms = now_ms(&self.config.meter_of(&state), &task.extract()).await;
        let calls = self.config.metered(calls, &state, now_ms);
        drop(task);
        let output = self.visit(&state, &calls, &early, now_ms).await?;
        if output.route == TurnNext::Stopped {
            self.config.interrupts.end(&info);
        }
        Ok(output)
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::LEDGER.id());
        node.writes_field(AssistantState::DECISIONS.id());
        node.writes_field(AssistantState::FILES.id());
        node.writes_field(AssistantState::TOOL_SUMMARY.id());
        node.writes_field(AssistantState::WINDOWS.id());
        node.writes_field(AssistantState::ANCHOR.id());
        node.writes_field(AssistantState::COMPACTIONS.id());
        node.writes_field(AssistantState::TRIMS.id());
        node.writes_field(AssistantState::TURN_COUNT.id());
        node.writes_field(AssistantState::RECOVERY.id());
        node.writes_field(AssistantState::FAILURE.id());
        node.writes_field(AssistantState::TRANSITION.id());
        node.writes_field(AssistantState::STOP.id());
        node.writes_field(AssistantState::EXIT.id());
    }
}
