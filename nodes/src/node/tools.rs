//! The node that runs tools.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;

use superstep_core::error::NodeError;
use superstep_core::node::{
    Effects, Emit, FromTask, Node, NodeDescription, OnUnknown, Output, Task, TaskInfo,
};
use superstep_core::run::CancellationToken;
use superstep_core::state::State;

use super::fields::{MessagesField, appended};
use super::tool_sessions::ToolSessions;
use crate::message::{Message, MessageId, ToolCall, ToolMessage, unanswered_tool_calls};
use crate::tool::{Execution, ExecutionPolicy, PreparedCall, ToolContext, ToolRegistry};

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
    tools: ToolRegistry,
    messages: MessagesField<S>,
    policy: ExecutionPolicy,
    sessions: ToolSessions,
}

impl<S: State> Tools<S> {
    /// The name of the custom events that calls emit.
    pub const EVENT: &'static str = EVENT;

    /// Makes a node that runs these tools.
    pub fn new(tools: ToolRegistry, messages: MessagesField<S>) -> Self {
        Self { tools, messages, policy: ExecutionPolicy::default(), sessions: ToolSessions::default() }
    }

    /// Runs calls as this policy allows.
    #[must_use]
    pub fn policy(mut self, policy: ExecutionPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Has the tools of all threads work in this folder.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.sessions = ToolSessions::in_workspace(folder);
        self
    }
}

const EVENT: &str = "tool";

/// One task of the node.
struct Visit {
    effects: Effects,
    emit: Emit,
    info: TaskInfo,
}

impl Visit {
    /// Makes a call, or returns its recorded answer.
    async fn answer(
        &self,
        call: &ToolCall,
        prepared: PreparedCall,
        position: usize,
        context: ToolContext,
    ) -> ToolMessage {
        let unknown = if prepared.effect().may_repeat() { OnUnknown::Retry } else { OnUnknown::Fail };
        let id = MessageId::new(format!("{}.{}.{position}", self.info.node(), self.info.step()));
        let name = format!("tool.{}", call.name);
        // Models are known to give two calls of one message the same id; the position tells them apart.
        let key = format!("{position}:{}", call.id);
        let effects = self.effects.on_unknown(unknown);
        let run = || async { Ok::<_, Infallible>(prepared.run(&context).await.into_message(id, call)) };
        match effects.run_keyed(&name, key, run).await {
            Ok(message) => message,
            Err(never) => match never {},
        }
    }

    /// Has the events of a call emitted, if somebody observes the run.
    fn observed(&self, context: ToolContext) -> ToolContext {
        if !self.emit.is_observed() {
            return context;
        }
        let emit = self.emit.clone();
        context.observe(move |event| emit.emit(EVENT, &event))
    }
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Tools<S> {
    type Output = Result<Output<S, ()>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let visit = Visit { effects: task.extract(), emit: task.extract(), info: task.extract() };
        let calls = waiting(self.messages.get(task.state()));
        drop(task);
        let session = self.sessions.of(visit.info.thread());
        // A run that is cancelled drops this future, and with it all that tools have started beside themselves.
        let turn = CancellationToken::new();
        let _gone = turn.clone().drop_guard();
        let mut execution = Execution::new(self.policy);
        for (position, call) in &calls {
            let prepared = self.tools.prepare(call);
            let context = visit.observed(ToolContext::new(call, session.clone()).cancel_on(&turn));
            execution.hand_in(prepared.concurrency(), visit.answer(call, prepared, *position, context));
        }
        let messages = execution.rest().await.into_iter().map(Message::from).collect();
        Ok(Output::updated(self.messages.write(appended(messages))))
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.messages.id());
    }
}

/// The tool calls of the latest AI message that nothing has answered, each with its position there.
fn waiting(messages: &[Message]) -> Vec<(usize, ToolCall)> {
    let Some(asked) = messages.iter().rposition(|message| matches!(message, Message::Ai(_))) else {
        return Vec::new();
    };
    let calls = messages[asked].tool_calls().iter().enumerate();
    let open = unanswered_tool_calls(&messages[asked..]);
    calls.filter(|(_, call)| open.contains(call)).map(|(position, call)| (position, call.clone())).collect()
}

impl<S: State> fmt::Debug for Tools<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tools").field(&self.tools).finish()
    }
}

#[cfg(test)]
#[path = "tools/tests.rs"]
mod tests;
