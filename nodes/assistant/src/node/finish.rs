//! The node after a response.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_core::node::{Node, NodeDescription, Output, Task, TaskInfo};
use superstep_core::route::Route;

use crate::config::AssistantConfig;
use crate::exit::Exit;
use crate::state::AssistantState;

/// The node after a response: it ends the run.
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

impl Finish {
    pub(crate) fn new(config: &Arc<AssistantConfig>) -> Self {
        Self { config: Arc::clone(config) }
    }
}

impl<C: Send + Sync + 'static> Node<AssistantState, C> for Finish {
    type Output = Output<AssistantState, FinishNext>;

    async fn call(&self, task: Task<AssistantState, C>) -> Self::Output {
        let info: TaskInfo = task.extract();
        self.config.interrupts.end(&info);
        let update = AssistantState::update().set_exit(Some(Exit::Completed));
        Output { update: Some(update), route: FinishNext::End }
    }

    fn describe(&self, node: &mut NodeDescription) {
        node.writes_field(AssistantState::EXIT.id());
    }
}
