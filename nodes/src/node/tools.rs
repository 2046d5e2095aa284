//! The node that runs tools.

use std::convert::Infallible;
use std::fmt;

use futures_util::future::join_all;
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, FromTask, Node, NodeDescription, OnUnknown, Output, Task, TaskInfo};
use superstep_core::state::State;

use super::conversation::last_response;
use super::fields::{MessagesField, appended};
use crate::message::{Message, MessageId, ToolCall, ToolMessage};
use crate::tool::{Tool, ToolEffect, ToolRegistry};

/// The node that runs the tools that the latest AI message asks for, and appends one tool message per call, in
/// the order of the calls.
///
/// A tool that fails is no failure of the node: its message tells the model. Neighbouring calls of tools that
/// are [`ToolEffect::ReadOnly`] run at the same time, all others one after the other.
///
/// Each call is an effect of its own. When a run is resumed, calls that finished are not made again. A call
/// that a crash cut short is made again if its tool says that it may be; otherwise the task fails and names
/// the call, for a person to look at.
pub struct Tools<S: State> {
    tools: ToolRegistry,
    messages: MessagesField<S>,
}

impl<S: State> Tools<S> {
    /// Makes a node that runs these tools.
    pub fn new(tools: ToolRegistry, messages: MessagesField<S>) -> Self {
        Self { tools, messages }
    }

    /// A call of a tool that does not exist does nothing, so it is as harmless as one that only looks.
    fn effect(&self, call: &ToolCall) -> ToolEffect {
        self.tools.get(&call.name).map_or(ToolEffect::ReadOnly, |tool| tool.effect())
    }

    async fn run(&self, call: &ToolCall, position: usize, id: MessageId, effects: &Effects) -> ToolMessage {
        let effects = if self.effect(call).may_repeat() {
            effects.on_unknown(OnUnknown::Retry)
        } else {
            effects.on_unknown(OnUnknown::Fail)
        };
        let name = format!("tool.{}", call.name);
        // Models are known to give two calls of one message the same id; the position tells them apart.
        let key = format!("{position}:{}", call.id);
        let answer = effects
            .run_keyed(&name, key, || async { Ok::<_, Infallible>(self.tools.answer(id, call).await) });
        match answer.await {
            Ok(message) => message,
            Err(never) => match never {},
        }
    }
}

impl<S: State, C: Send + Sync + 'static> Node<S, C> for Tools<S> {
    type Output = Result<Output<S, ()>, NodeError>;

    async fn call(&self, task: Task<S, C>) -> Self::Output {
        let (effects, info): (Effects, TaskInfo) = (task.extract(), task.extract());
        let last = last_response(self.messages.get(task.state()));
        let calls = last.map(|said| said.tool_calls.clone()).unwrap_or_default();
        drop(task);
        let calls: Vec<(usize, ToolCall)> = calls.into_iter().enumerate().collect();
        let looks = |(_, call): &(usize, ToolCall)| self.effect(call) == ToolEffect::ReadOnly;
        let mut messages: Vec<Message> = Vec::with_capacity(calls.len());
        for group in calls.chunk_by(|a, b| looks(a) && looks(b)) {
            let answers = group.iter().map(|(position, call)| {
                let id = MessageId::new(format!("{}.{}.{position}", info.node(), info.step()));
                self.run(call, *position, id, &effects)
            });
            messages.extend(join_all(answers).await.into_iter().map(Message::from));
        }
        Ok(Output::updated(self.messages.write(appended(messages))))
    }

    fn describe(&self, node: &mut NodeDescription) {
        <Effects as FromTask<S, C>>::describe(node, 0);
        node.writes_field(self.messages.id());
    }
}

impl<S: State> fmt::Debug for Tools<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tools").field(&self.tools).finish()
    }
}
