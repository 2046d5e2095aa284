//! The node after a failed turn.

use std::convert::Infallible;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task, TaskInfo};
use superstep_core::route::Route;
use superstep_nodes::message::{AiMessage, Message};

use crate::config::AssistantConfig;
use crate::context::{drain_folds, leave_out_pictures};
use crate::exit::Transition;
use crate::recovery::{Action, Circumstances, next};
use crate::state::{AssistantState, AssistantStateUpdate, RESUMED, TurnFailure};

/// The node after a failed turn: it takes the [next step of recovery](next).
pub(crate) struct Recover {
    config: Arc<AssistantConfig>,
}

/// The next step after `recover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoverNext {
    /// The model is called again.
    Turn,
    /// The conversation is compacted first.
    Compact,
    /// Nothing helps; the exit says how the run ended.
    Stop,
}

/// The message that asks the model to continue a reply that was cut off.
const RESUME: &str = "Your reply was cut off by its output limit. Continue exactly where it ends: no apology, no repetition. \
    Split what is left into smaller steps.";

impl Recover {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        Self { config: Arc::clone(config) }
    }

    async fn visit(
        &self,
        state: &AssistantState,
        effects: &Effects,
        info: &TaskInfo,
    ) -> Result<Output<AssistantState, RecoverNext>, NodeError> {
        let failure = state.failure.as_ref().ok_or_else(|| NodeError::terminal("no turn has failed"))?;
        let history = state.history(0);
        let folds = drain_folds(&history, &self.config.context);
        let circumstances =
            Circumstances { has_fallback: self.config.fallback.is_some(), has_folds: !folds.is_empty() };
        let (recovery, action) = next(&state.recovery, failure.kind(), circumstances, &self.config.recovery);
        let update = AssistantState::update().recovery(recovery);
        let pictures = || leave_out_pictures(&history, &self.config.context);
        let (update, transition, route) = match action {
            Action::Wait(wait) => {
                let stop = self.config.interrupts.of(info);
                let Ok(()) = effects
                    .run("wait", || async {
                        stop.run_until_cancelled(tokio::time::sleep(wait)).await;
                        Ok::<_, Infallible>(())
                    })
                    .await;
                (update, Transition::Waited, RecoverNext::Turn)
            }
            Action::SwitchModel => (update, Transition::SwitchedModel, RecoverNext::Turn),
            Action::DrainFolds => (update.trims(folds), Transition::Collapsed, RecoverNext::Turn),
            Action::CompactReactively => {
                (update.trims(pictures()), Transition::Compacted, RecoverNext::Compact)
            }
            Action::StripMedia => (update.trims(pictures()), Transition::StrippedMedia, RecoverNext::Turn),
            Action::Escalate(_) => (update, Transition::Escalated, RecoverNext::Turn),
            Action::ResumeOutput => {
                let request = Message::human(format!("{}{RESUMED}", info.place()), RESUME);
                (
                    update.messages(kept(failure).into_iter().chain([request]).collect::<Vec<_>>()),
                    Transition::Resumed,
                    RecoverNext::Turn,
                )
            }
            Action::Surface(exit) => {
                self.config.interrupts.end(info);
                // Written again, so that the event of the exit has the failure.
                let update = update
                    .messages(kept(failure).into_iter().collect::<Vec<_>>())
                    .set_failure(state.failure.clone())
                    .set_exit(Some(exit));
                return Ok(Output { update: Some(update), route: RecoverNext::Stop });
            }
        };
        let update: AssistantStateUpdate = update.set_transition(Some(transition));
        Ok(Output { update: Some(update.set_failure(None)), route })
    }
}

/// Returns the text of a reply that was cut off. Its tool calls are left out, as the missing part may have changed them.
fn kept(failure: &TurnFailure) -> Option<Message> {
    let TurnFailure::CutOff { reply, .. } = failure else { return None };
    let text = reply.content.to_text();
    let said = AiMessage { tool_calls: Vec::new(), content: text.as_ref().into(), id: reply.id.clone() };
    (!text.trim().is_empty()).then(|| said.into())
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Recover {
    type Output = Result<Output<AssistantState, RecoverNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let (state, effects, info) = (Arc::clone(task.state()), task.extract(), task.extract());
        drop(task);
        self.visit(&state, &effects, &info).await
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::TRIMS.id());
        node.writes_field(AssistantState::RECOVERY.id());
        node.writes_field(AssistantState::FAILURE.id());
        node.writes_field(AssistantState::TRANSITION.id());
        node.writes_field(AssistantState::EXIT.id());
    }
}
