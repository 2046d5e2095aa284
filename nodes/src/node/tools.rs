//! The node that runs tools.

use std::fmt;
use std::path::PathBuf;

use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, Output, Task};
use superstep_core::state::{Field, State};

use super::CallCost;
use super::fields::{MessagesField, all, appended};
use super::tool_runner::{self, ToolRunner, ToolTask};
use crate::message::{Message, open_calls};
use crate::tool::{ExecutionPolicy, ToolRegistry};

/// The node that runs the tools that the latest AI message asks for and that nothing has answered yet, and appends one
/// tool message per call, in the order of the calls.
///
/// A tool that fails is no failure of the node: its message tells the model. Neighbouring calls that are
/// [safe](crate::tool::Concurrency::Safe) run at the same time, up to ten of them, and all others one after the other,
/// unless [`policy`](Self::policy) says otherwise.
///
/// Each call is an effect of its own. When a run is resumed, calls that finished are not made again. A call
/// that a crash cut short is made again if its tool says that it may be; otherwise the task fails and names
/// the call, for a person to look at.
///
/// While the run is observed, each call that is made emits [`ToolEvent`](crate::tool::ToolEvent)s, as custom events of
/// the name [`Tools::EVENT`].
pub struct Tools<S: State> {
    runner: ToolRunner,
    messages: MessagesField<S>,
    log: Option<Field<S, Vec<CallCost>>>,
}

impl<S: State> Tools<S> {
    /// The name of the custom events that calls emit.
    pub const EVENT: &'static str = tool_runner::EVENT;

    /// Makes a node that runs these tools.
    pub fn new(tools: ToolRegistry, messages: MessagesField<S>) -> Self {
        Self { runner: ToolRunner::new(tools), messages, log: None }
    }

    /// Runs calls as this policy allows.
    #[must_use]
    pub fn policy(mut self, policy: ExecutionPolicy) -> Self {
        self.runner.set_policy(policy);
        self
    }

    /// Sets the folder that the tools of all threads work in.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.runner.set_workspace(folder.into());
        self
    }

    /// Appends the cost of each call to a field with the reducer `Append`.
    #[must_use]
    pub fn log_calls(mut self, log: Field<S, Vec<CallCost>>) -> Self {
        self.log = Some(log);
        self
    }

    /// Returns the tools and their sessions.
    pub(super) fn runner(&self) -> &ToolRunner {
        &self.runner
    }
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Tools<S> {
    type Output = Result<Output<S, ()>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let calls = open_calls(self.messages.get(task.state()));
        let visit = ToolTask::of(&task);
        drop(task);
        let mut running = self.runner.begin(&visit);
        for (position, call) in calls {
            let prepared = self.runner.prepare(&call);
            // Models are known to give two calls of one message the same id; the position tells them apart.
            let key = format!("{position}:{}", call.id);
            running.hand_in(visit.message_id_of(position), call, prepared, key);
        }
        let (mut answers, mut costs) = (Vec::new(), Vec::new());
        while let Some(answer) = running.next().await {
            costs.push(answer.cost());
            answers.push(Message::from(answer.message));
        }
        let log = self.log.as_ref().map(|log| log.write(costs));
        Ok(Output::updated(all([self.messages.write(appended(answers))].into_iter().chain(log))))
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.messages.id());
        if let Some(log) = &self.log {
            node.writes_field(log.id());
        }
    }
}

impl<S: State> fmt::Debug for Tools<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tools").field(&self.runner).finish()
    }
}

#[cfg(test)]
mod tests;
