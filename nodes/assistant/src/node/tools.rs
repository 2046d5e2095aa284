//! The node that runs tools.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::route::Route;
use superstep_nodes::__private::{ToolRunner, ToolTask, open_calls};
use superstep_nodes::message::Message;
use superstep_nodes::tool::ToolOutcome;

use crate::config::AssistantConfig;
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::state::AssistantState;

/// The node that runs the calls of the last reply, and appends an answer for each, in their order.
pub(crate) struct Tools {
    runner: ToolRunner,
    interrupts: Interrupts,
}

/// The next step after `tools`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolsNext {
    /// The answers are there.
    Gate,
    /// The turn was stopped. Calls that had not ended are answered by an error that says so.
    Stopped,
}

impl Tools {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        let mut runner = ToolRunner::new(config.tools.clone());
        runner.set_policy(config.policy);
        if let Some(folder) = &config.workspace {
            runner.set_workspace(folder.clone());
        }
        Self { runner, interrupts: config.interrupts.clone() }
    }
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Tools {
    type Output = Result<Output<AssistantState, ToolsNext>, NodeError>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let calls = open_calls(&task.state().messages);
        let stop = self.interrupts.of(&task.extract());
        let visit = ToolTask::of(&task);
        drop(task);
        let mut running = self.runner.begin(&visit).interrupted_by(&stop);
        for (position, call) in calls {
            let prepared = self.runner.prepare(&call);
            // Models give two calls of one message the same id; the position tells them apart.
            let key = format!("{position}:{}", call.id);
            running.hand_in(visit.message_id_of(position), call, prepared, key);
        }
        let (mut answers, mut is_stopped) = (Vec::new(), false);
        while let Some(answer) = running.next().await {
            is_stopped |= answer.outcome == ToolOutcome::Cancelled;
            answers.push(Message::from(answer.message));
        }
        let update = AssistantState::update().messages(answers);
        Ok(match is_stopped {
            true => {
                Output { update: Some(update.set_exit(Some(Exit::AbortedTools))), route: ToolsNext::Stopped }
            }
            false => Output { update: Some(update), route: ToolsNext::Gate },
        })
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<AssistantState, C>>::describe(node, 0);
        node.writes_field(AssistantState::MESSAGES.id());
        node.writes_field(AssistantState::EXIT.id());
    }
}
