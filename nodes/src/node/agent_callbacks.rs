//! Functions that are called with the events of an agent.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use superstep_core::run::{Observer, RunEvent};

use super::agent_event::NodeEvent;
use crate::tool::{ToolEvent, ToolEventKind};

/// Functions that are called with the events of an agent as they occur: an [`Observer`] of a graph. Each of them may be
/// left out.
///
/// A function is called on the thread that works, so it should return soon. One that panics is called again at the next
/// event, and changes nothing for the run.
///
/// ```
/// use superstep_nodes::graphs::{EvaluatorConfig, evaluator};
/// use superstep_nodes::model::Scripted;
/// use superstep_nodes::node::AgentCallbacks;
///
/// let callbacks = AgentCallbacks::new()
///     .on_tool_call(|tool, input| println!("{tool} {input}"))
///     .on_tool_result(|tool, text| println!("{tool}: {text}"));
/// let graph = evaluator(EvaluatorConfig::new(Scripted::new().say("Hello, world.")))?.observe(callbacks);
/// # Ok::<(), superstep_core::graph::BuildError>(())
/// ```
#[derive(Clone, Default)]
pub struct AgentCallbacks {
    thinking: Option<OnThinking>,
    tool_call: Option<OnToolCall>,
    tool_result: Option<OnToolResult>,
}

type OnThinking = Arc<dyn Fn(&str) + Send + Sync>;
type OnToolCall = Arc<dyn Fn(&str, &Value) + Send + Sync>;
type OnToolResult = Arc<dyn Fn(&str, &str) + Send + Sync>;

impl AgentCallbacks {
    /// No functions yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the function that is called with the text of an agent with
    /// [`tell_reasoning`](super::Agent::tell_reasoning), before the tools that it asks for are called.
    #[must_use]
    pub fn on_thinking(mut self, call: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.thinking = Some(Arc::new(call));
        self
    }

    /// Sets the function that is called with a tool's name and input before it is called, and before a call is refused.
    #[must_use]
    pub fn on_tool_call(mut self, call: impl Fn(&str, &Value) + Send + Sync + 'static) -> Self {
        self.tool_call = Some(Arc::new(call));
        self
    }

    /// Sets the function that is called with a tool's name and the text of its result for the model, after it was
    /// called or refused.
    #[must_use]
    pub fn on_tool_result(mut self, call: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        self.tool_result = Some(Arc::new(call));
        self
    }

    fn report_reasoning(&self, text: &str) {
        if let Some(call) = &self.thinking {
            guarded(|| call(text));
        }
    }

    fn report_call(&self, ToolEvent { tool, kind, .. }: &ToolEvent) {
        let (input, text) = match kind {
            ToolEventKind::Started { input } => (Some(input), None),
            ToolEventKind::Refused { input, text, .. } => (Some(input), Some(text)),
            ToolEventKind::Ended { text, .. } => (None, Some(text)),
            ToolEventKind::Progress { .. } => (None, None),
        };
        if let (Some(call), Some(input)) = (&self.tool_call, input) {
            guarded(|| call(tool, input));
        }
        if let (Some(call), Some(text)) = (&self.tool_result, text) {
            guarded(|| call(tool, text));
        }
    }
}

/// Calls a function of the user's; the panic hook says what it panics with.
fn guarded(call: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(call));
}

impl Observer for AgentCallbacks {
    fn on_event(&self, event: &RunEvent) {
        match NodeEvent::of(event) {
            Some(NodeEvent::Reasoning(reasoning)) => self.report_reasoning(&reasoning.text),
            Some(NodeEvent::ToolCall(event)) => self.report_call(&event),
            None => {}
        }
    }
}

impl fmt::Debug for AgentCallbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut callbacks = f.debug_struct("AgentCallbacks");
        callbacks.field("on_thinking", &self.thinking.is_some());
        callbacks.field("on_tool_call", &self.tool_call.is_some());
        callbacks.field("on_tool_result", &self.tool_result.is_some()).finish()
    }
}
