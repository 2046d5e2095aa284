//! The node before each turn.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task, TaskInfo};
use superstep_core::route::Route;
use superstep_nodes::message::Message;

use crate::config::AssistantConfig;
use crate::exit::{Exit, Transition};
use crate::state::AssistantState;

/// The node before each turn: it takes the message of the user into the conversation, and checks the limits.
pub(crate) struct Gate {
    config: Arc<AssistantConfig>,
}

/// The next step after `gate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateNext {
    /// The model is called.
    Turn,
    /// A limit is reached; the exit says which.
    Stop,
}

impl Gate {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        Self { config: Arc::clone(config) }
    }

    fn visit(
        &self,
        state: &AssistantState,
        info: &TaskInfo,
        now_ms: Option<u64>,
    ) -> Result<Output<AssistantState, GateNext>, NodeError> {
        let mut update = AssistantState::update().set_failure(None);
        if let Some(request) = state.request.as_deref().filter(|request| !request.trim().is_empty()) {
            self.config.interrupts.begin(info);
            let mut recovery = state.recovery.clone();
            recovery.after_message();
            let message = Message::human(info.place(), request);
            update = update.set_request(None).set_began_ms(now_ms).recovery(recovery).objections(0);
            update = update.messages([message]);
        } else if state.messages.is_empty() {
            return Err(NodeError::terminal(NOTHING_TO_DO));
        } else if matches!(state.messages.last(), Some(Message::Tool(_))) {
            update = update.set_transition(Some(Transition::Tools));
        }
        if state.turn_count >= self.config.max_turns.get() {
            self.config.interrupts.end(info);
            return Ok(Output { update: Some(update.set_exit(Some(Exit::MaxTurns))), route: GateNext::Stop });
        }
        Ok(Output { update: Some(update), route: GateNext::Turn })
    }
}

/// Returns the time, if time is limited: the same in every attempt and replay.
pub(super) async fn now_ms(config: &AssistantConfig, effects: &Effects) -> Option<u64> {
    config.meter.limits().time_ms?;
    let since = effects.now().await.duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The error of a run without anything to work on.
const NOTHING_TO_DO: &str =
    "the session has no message to work on: give the run an input made by `AssistantState::ask`";

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Gate {
    type Output = Result<Output<AssistantState, GateNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let now_ms = now_ms(&self.config, &task.extract()).await;
        self.visit(task.state(), &task.extract(), now_ms)
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::BEGAN_MS.id());
        node.writes_field(AssistantState::REQUEST.id());
        node.writes_field(AssistantState::RECOVERY.id());
        node.writes_field(AssistantState::OBJECTIONS.id());
        node.writes_field(AssistantState::FAILURE.id());
        node.writes_field(AssistantState::TRANSITION.id());
        node.writes_field(AssistantState::EXIT.id());
    }
}
