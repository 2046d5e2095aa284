//! The node after a response.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, OnUnknown, Output, Task, TaskInfo};
use superstep_core::route::Route;
use superstep_core::store::AccessError;
use superstep_nodes::message::Message;

use super::gate::is_new;
use super::hooks::{Heard, stop_hook};
use crate::config::AssistantConfig;
use crate::exit::{Exit, Transition};
use crate::hook::{EndEvent, StopAnswer};
use crate::state::{AssistantState, OBJECTION};

/// The node after a response: it ends the run, unless a message waits or a stop hook objects. Then the work continues,
/// after objections as often as the hooks may object.
pub(crate) struct Finish {
    config: Arc<AssistantConfig>,
}

/// The next step after `finish`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishNext {
    /// The run ends.
    End,
    /// A stop hook objects, or a message waits.
    Gate,
}

/// The answer of all stop hooks.
enum Answer {
    Pass,
    Object(String),
    End(Exit),
}

impl Finish {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        Self { config: Arc::clone(config) }
    }

    /// Asks each hook in turn, so that the model reads all objections at once.
    async fn asked(&self, state: &AssistantState, effects: &Effects, info: &TaskInfo) -> Answer {
        if self.config.hooks.of_end().next().is_none() {
            return Answer::Pass;
        }
        let (task, response) = (state.task(), state.response());
        let stop = self.config.interrupts.of(info);
        let end = EndEvent {
            task: &task,
            response: &response,
            messages: state.since_task(),
            stop_hook_active: state.stop_hook_active(),
            workspace: self.config.workspace.as_deref(),
        };
        let mut objections = Vec::new();
        for (nth, hook) in self.config.hooks.of_end().enumerate() {
            match stop_hook(effects, nth.to_string(), hook, &end, &stop).await {
                Heard::Answer(StopAnswer::Pass) => {}
                Heard::Answer(StopAnswer::Object(reason)) => {
                    objections.push(format!("The check {} objects to your response: {reason}", hook.name()));
                }
                Heard::Answer(StopAnswer::End(_)) => return Answer::End(Exit::HookStopped),
                Heard::Stopped => return Answer::End(Exit::AbortedTools),
            }
        }
        if objections.is_empty() { Answer::Pass } else { Answer::Object(objections.join("\n\n")) }
    }

    /// Returns `true` if the inbox has a message that the session has not taken.
    async fn is_awaited(
        &self,
        state: &AssistantState,
        effects: &Effects,
        info: &TaskInfo,
    ) -> Result<bool, NodeError> {
        let Some(inbox) = self.config.inbox_of(info) else { return Ok(false) };
        let look = || async {
            let waiting = inbox.waiting(info.thread()).await?;
            Ok::<_, AccessError>(waiting.iter().any(|message| is_new(state, message)))
        };
        effects.on_unknown(OnUnknown::Retry).run("inbox", look).await.map_err(NodeError::retryable)
    }
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Finish {
    type Output = Result<Output<AssistantState, FinishNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let (state, effects): (_, Effects) = (Arc::clone(task.state()), task.extract());
        let info: TaskInfo = task.extract();
        drop(task);
        if self.is_awaited(&state, &effects, &info).await? {
            return Ok(Output { update: None, route: FinishNext::Gate });
        }
        let update = AssistantState::update();
        let (update, exit) = match self.asked(&state, &effects, &info).await {
            Answer::Pass => (update, Exit::Completed),
            Answer::End(exit) => (update, exit),
            Answer::Object(reason) => {
                let update = update
                    .messages([Message::human(format!("{}{OBJECTION}", info.place()), reason)])
                    .objections(state.objections.saturating_add(1));
                if state.objections < self.config.hooks.most_objections() {
                    let update = update.set_transition(Some(Transition::StopHook));
                    return Ok(Output { update: Some(update), route: FinishNext::Gate });
                }
                (update, Exit::StopHookPrevented)
            }
        };
        self.config.interrupts.end(&info);
        Ok(Output { update: Some(update.set_exit(Some(exit))), route: FinishNext::End })
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::OBJECTIONS.id());
        node.writes_field(AssistantState::TRANSITION.id());
        node.writes_field(AssistantState::EXIT.id());
    }
}
