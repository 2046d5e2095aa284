//! The node that calls the model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::route::Route;
use superstep_nodes::__private::{ModelCalls, skipped};
use superstep_nodes::compaction::view;
use superstep_nodes::message::{Content, Message, Part};
use superstep_nodes::model::{ModelReply, ModelRequest, Purpose, StopReason};

use crate::config::AssistantConfig;
use crate::exit::{Exit, Transition};
use crate::recovery::OneShot;
use crate::state::{AssistantState, AssistantStateUpdate, TurnFailure};

/// The node that calls the model for the next step of the work.
pub(crate) struct Turn {
    config: Arc<AssistantConfig>,
}

/// The next step after `turn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnNext {
    /// The model asks for tools.
    Calls,
    /// The provider paused the reply, which the model is called again to continue.
    Again,
    /// The model responded without asking for tools.
    Done,
    /// The call failed, or a limit cut the reply off.
    Failed,
    /// The turn was stopped.
    Stopped,
}

/// The answer to the calls of a reply that was stopped.
const STOPPED: &str = "Not run: the user stopped the turn.";

impl Turn {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        Self { config: Arc::clone(config) }
    }

    fn request(&self, state: &AssistantState) -> ModelRequest {
        let mut messages = view(&state.messages, &state.compactions);
        if state.recovery.stripped_media != OneShot::Unused {
            messages.iter_mut().for_each(strip_media);
        }
        let mut request = ModelRequest::new(Purpose::Agent, messages).with_tools(self.config.tools.specs());
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
    ) -> Result<Output<AssistantState, TurnNext>, NodeError> {
        let model = self.config.model_of(state.recovery.switched_model);
        let answered = calls.try_ask(model, self.request(state), calls.message_id()).await?;
        let update = AssistantState::update().ledger(calls.made());
        let (update, route) = match answered {
            Ok(reply) => self.replied(state, calls, reply, update),
            Err(error) => (update.set_failure(Some(TurnFailure::Failed(error))), TurnNext::Failed),
        };
        Ok(Output { update: Some(update), route })
    }

    /// Takes a reply.
    fn replied(
        &self,
        state: &AssistantState,
        calls: &ModelCalls,
        reply: ModelReply,
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
        if stop == StopReason::Interrupted {
            let answers = skipped(&said, 0, STOPPED, |position| calls.message_id_of(position));
            let update =
                update.messages(std::iter::once(said.into()).chain(answers).collect::<Vec<Message>>());
            return (update.set_exit(Some(Exit::AbortedStreaming)), TurnNext::Stopped);
        }
        let mut recovery = state.recovery.clone();
        recovery.after_reply();
        let update = update.recovery(recovery);
        let route = match (is_paused, said.tool_calls.is_empty()) {
            (true, _) => TurnNext::Again,
            (false, false) => TurnNext::Calls,
            (false, true) => TurnNext::Done,
        };
        let update = update.messages([Message::from(said)]);
        match route {
            TurnNext::Again => (update.set_transition(Some(Transition::Paused)), route),
            _ => (update, route),
        }
    }
}

/// Replaces the pictures of a message by a note.
fn strip_media(message: &mut Message) {
    let note = |part: &Part| match part {
        Part::Image(_) => Part::text("[a picture that the model did not accept]"),
        part => part.clone(),
    };
    let content = match message {
        Message::Human(message) => &mut message.content,
        Message::Tool(message) => &mut message.content,
        Message::Ai(_) | Message::System(_) => return,
    };
    *content = content.parts().iter().map(note).collect::<Content>();
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Turn {
    type Output = Result<Output<AssistantState, TurnNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let state = Arc::clone(task.state());
        let stop = self.config.interrupts.of(&task.extract());
        let calls = ModelCalls::of(&task).interrupted_by(stop);
        drop(task);
        self.visit(&state, &calls).await
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::LEDGER.id());
        node.writes_field(AssistantState::TURN_COUNT.id());
        node.writes_field(AssistantState::RECOVERY.id());
        node.writes_field(AssistantState::FAILURE.id());
        node.writes_field(AssistantState::TRANSITION.id());
        node.writes_field(AssistantState::STOP.id());
        node.writes_field(AssistantState::EXIT.id());
    }
}
