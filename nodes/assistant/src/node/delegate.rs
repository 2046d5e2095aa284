//! The node that starts sub-agents.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, OnUnknown, Output, Task, TaskInfo};
use superstep_core::route::Route;
use superstep_nodes::__private::open_calls;
use superstep_nodes::message::Message;

use super::gate::now_ms;
use super::turn::STOPPED;
use crate::agents::{AgentResult, BackgroundAgent, Delegation, Handover, next_batch, reserve};
use crate::config::AssistantConfig;
use crate::exit::Exit;
use crate::inbox::InboxMessage;
use crate::state::{AssistantState, AssistantStateUpdate};

/// The node that starts the agents to which calls of the last reply delegate. It is visited again after each batch of
/// them, and answers all the calls after the last one, in their order.
pub(crate) struct Delegate {
    config: Arc<AssistantConfig>,
}

/// The next step after `delegate`.
#[derive(Clone, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegateNext {
    /// These agents run, and then `delegate` is visited again.
    Agents(Vec<Delegation>),
    /// Every call is answered.
    Gate,
    /// The user stopped the turn, or a hook ended the run of an agent. Every call is answered.
    Stopped,
}

impl Delegate {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        Self { config: Arc::clone(config) }
    }

    async fn visit(
        &self,
        state: &AssistantState,
        effects: &Effects,
        info: &TaskInfo,
    ) -> Result<Output<AssistantState, DelegateNext>, NodeError> {
        let (mut results, mut waiting) = (state.results.clone(), state.delegations.clone());
        if let Some(exit) = results.iter().find_map(AgentResult::exit_of_session) {
            self.config.interrupts.end(info);
            let update = answered(state, info, results).set_exit(Some(exit));
            return Ok(Output { update: Some(update), route: DelegateNext::Stopped });
        }
        let now_ms = now_ms(&self.config.meter_of(state), effects).await;
        let mut left = self.config.left(state, now_ms);
        let limits =
            |it: &Delegation| self.config.kind(&it.agent).map(|kind| kind.limits).unwrap_or_default();
        let mut begun: Vec<_> = waiting.extract_if(.., |it| it.handover == Handover::Background).collect();
        // The session works beside them, so it keeps a share, too.
        reserve(&mut begun, 1, &left, limits);
        let begun: Vec<_> = begun.into_iter().map(|delegation| in_background(delegation, info)).collect();
        begun.iter().for_each(|agent| left = left.after(&agent.reserved()));
        results.extend(begun.iter().map(|agent| {
            let text =
                format!("The agent `{}` works in the background. Its answer comes as a message.", agent.name);
            AgentResult::said(&agent.delegation, Some(Exit::Completed), text)
        }));
        for message in waiting.extract_if(.., |it| it.handover == Handover::Message) {
            results.push(self.send(state, effects, info, &message).await?);
        }
        let mut batch = next_batch(&mut waiting, |it| self.config.is_reader(&it.agent));
        reserve(&mut batch, 0, &left, limits);
        let (update, route) = match batch.is_empty() {
            true => (answered(state, info, results), DelegateNext::Gate),
            false => {
                let update = AssistantState::update().set_delegations(waiting).set_results(results);
                (update, DelegateNext::Agents(batch))
            }
        };
        Ok(Output { update: Some(update.background(begun)), route })
    }

    /// Sends a message to an agent in the background. Its id is that of the call, so it arrives once.
    async fn send(
        &self,
        state: &AssistantState,
        effects: &Effects,
        info: &TaskInfo,
        message: &Delegation,
    ) -> Result<AgentResult, NodeError> {
        let is_working = state.background.iter().any(|agent| agent.name == message.agent);
        let Some(inbox) = self.config.inbox_of(info).filter(|_| is_working) else {
            return Ok(AgentResult {
                failure: Some("no agent of this name works in the background".to_owned()),
                ..AgentResult::said(message, None, String::new())
            });
        };
        let letter =
            InboxMessage::steer(message.task.clone()).with_id(format!("{}.{}", info.place(), message.call));
        let thread = BackgroundAgent::thread(info.thread(), &message.agent);
        let send = || inbox.send(&thread, letter);
        let effects = effects.on_unknown(OnUnknown::Retry);
        effects.run_keyed("send", message.call.to_string(), send).await.map_err(NodeError::retryable)?;
        Ok(AgentResult::said(message, Some(Exit::Completed), format!("Sent to `{}`.", message.agent)))
    }
}

/// Names an agent that works in the background. Another branch of the session never has an agent of this name.
fn in_background(delegation: Delegation, info: &TaskInfo) -> BackgroundAgent {
    let visit = info.task_id().map(|task| task.to_string()).unwrap_or_default();
    let visit: String = visit.chars().filter(|it| it.is_ascii_hexdigit()).take(8).collect();
    BackgroundAgent { name: format!("{}-{visit}-{}", delegation.agent, delegation.call), delegation }
}

/// Answers every open call, in their order. Those without a result were not begun before the run was ended.
fn answered(state: &AssistantState, info: &TaskInfo, results: Vec<AgentResult>) -> AssistantStateUpdate {
    let mut results: BTreeMap<_, _> =
        results.into_iter().map(|result| (result.call as usize, result)).collect();
    let answers = open_calls(&state.messages).into_iter().map(|(position, call)| {
        let id = format!("{}.{position}", info.place());
        match results.remove(&position) {
            Some(result) => result.into_message(id.into(), &call),
            None => Message::tool_error(id, &call, STOPPED),
        }
    });
    let answers: Vec<_> = answers.collect();
    AssistantState::update().messages(answers).set_delegations(Vec::new()).set_results(Vec::new())
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Delegate {
    type Output = Result<Output<AssistantState, DelegateNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let (state, effects, info) = (Arc::clone(task.state()), task.extract(), task.extract());
        drop(task);
        self.visit(&state, &effects, &info).await
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::DELEGATIONS.id());
        node.writes_field(AssistantState::RESULTS.id());
        node.writes_field(AssistantState::BACKGROUND.id());
        node.writes_field(AssistantState::EXIT.id());
    }
}
