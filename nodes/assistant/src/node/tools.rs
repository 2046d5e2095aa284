//! The node that runs tools.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task, TaskInfo};
use superstep_core::route::Route;
use superstep_nodes::__private::{ToolRunner, ToolTask, open_calls};
use superstep_nodes::message::{Message, ToolCall, ToolMessage};
use superstep_nodes::model::{Ledger, ModelReply, Purpose, Usage};
use superstep_nodes::tool::{ToolEffect, ToolNotes, ToolOutcome};

use super::coverage::Coverage;
use super::turn::STOPPED;
use crate::config::AssistantConfig;
use crate::exit::Exit;
use crate::state::AssistantState;

/// The node that runs the calls of the last reply that `authorize` allowed, and appends an answer for each, in their order.
pub(crate) struct Tools {
    config: Arc<AssistantConfig>,
    runner: ToolRunner,
}

/// The next step after `tools`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolsNext {
    /// The answers are there.
    Gate,
    /// The answers are there, and other calls start agents.
    Delegate,
    /// The turn was stopped. Calls that had not ended are answered by an error that says so.
    Stopped,
}

/// The answer to a call on which `authorize` has not decided.
const UNDECIDED: &str = "Not run: the call was not authorized.";

impl Tools {
    pub(crate) fn new(config: &Arc<AssistantConfig>, runner: &ToolRunner) -> Self {
        Self { config: Arc::clone(config), runner: runner.clone() }
    }

    /// Returns the model call that a tool has paid for; `None` if its calls cost nothing, or this one has failed.
    fn spent(&self, answer: &ToolMessage) -> Option<Ledger> {
        let model = self.runner.paid_model(&answer.name)?;
        let usage = Usage::deserialize(answer.data.as_ref()?.get("usage")?).ok()?;
        Some(Ledger::of(Purpose::Image, &ModelReply::new(model, "").with_usage(usage), 0))
    }
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Tools {
    type Output = Result<Output<AssistantState, ToolsNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let state = Arc::clone(task.state());
        let info: TaskInfo = task.extract();
        let stop = self.config.interrupts.of(&info);
        let (visit, coverage) = (ToolTask::of(&task), Coverage::of(&self.config, &task));
        drop(task);
        let is_allowed = |position: usize| state.allowed.iter().any(|allowed| *allowed as usize == position);
        let is_delegated = |position: usize| state.delegations.iter().any(|it| it.call as usize == position);
        let (delegated, open): (Vec<_>, Vec<_>) =
            open_calls(&state.messages).into_iter().partition(|(position, _)| is_delegated(*position));
        let (allowed, undecided): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|(position, _)| is_allowed(*position));
        let prepare = |(position, call): (usize, ToolCall)| (position, self.runner.prepare(&call), call);
        let calls: Vec<_> = allowed.into_iter().map(prepare).collect();
        let changing = calls.iter().filter(|(_, prepared, _)| prepared.effect() != ToolEffect::ReadOnly);
        let changing: Vec<_> = changing.map(|(.., call)| call).collect();
        let before = coverage.begin(&state, &changing).await?;
        let session = self.runner.session(&visit).with_notes(state.files.clone());
        let mut running = self.runner.begin_in(session, &visit).interrupted_by(&stop);
        for (position, prepared, call) in calls {
            // Models give two calls of one message the same id; the position tells them apart.
            let key = format!("{position}:{}", call.id);
            running.hand_in(visit.message_id_of(position), call, prepared, key);
        }
        let (mut answers, mut notes, mut is_stopped) = (Vec::new(), ToolNotes::new(), false);
        let mut spent = Vec::new();
        while let Some(answer) = running.next().await {
            is_stopped |= answer.outcome == ToolOutcome::Cancelled;
            notes.extend(answer.notes);
            spent.extend(self.spent(&answer.message));
            answers.push(Message::from(answer.message));
        }
        let refused = |calls: &[(usize, ToolCall)], reason: &str| -> Vec<Message> {
            let refuse = |(position, call): &(usize, ToolCall)| {
                Message::tool_error(visit.message_id_of(position), call, reason)
            };
            calls.iter().map(refuse).collect()
        };
        answers.extend(refused(&undecided, UNDECIDED));
        if is_stopped {
            answers.extend(refused(&delegated, STOPPED));
        }
        let update = AssistantState::update().messages(answers).files(notes).allowed(Vec::new());
        let update = spent.into_iter().fold(update, |update, ledger| update.ledger(ledger));
        let update = coverage.end(&state, before, update).await?;
        if !is_stopped {
            let route = if delegated.is_empty() { ToolsNext::Gate } else { ToolsNext::Delegate };
            return Ok(Output { update: Some(update), route });
        }
        self.config.interrupts.end(&info);
        Ok(Output { update: Some(update.set_exit(Some(Exit::AbortedTools))), route: ToolsNext::Stopped })
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::FILES.id());
        node.writes_field(AssistantState::ALLOWED.id());
        node.writes_field(AssistantState::SNAPSHOT.id());
        node.writes_field(AssistantState::CHANGES.id());
        node.writes_field(AssistantState::NOT_COVERED.id());
        node.writes_field(AssistantState::LEDGER.id());
        node.writes_field(AssistantState::EXIT.id());
    }
}
