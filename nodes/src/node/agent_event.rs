//! The events of a running agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_core::run::{EventKind, RunEvent};

use super::events::Reasoning;
use super::tool_runner;
use crate::tool::{ToolEvent, ToolEventKind};

/// An event of a running agent, for callbacks, a terminal, or a browser by server-sent events.
///
/// ```
/// use superstep_nodes::node::AgentEvent;
///
/// let event = AgentEvent::AgentReasoning { agent: "tutor".into(), text: "First\nthings first.".into() };
/// let frame = "event: agent_reasoning\ndata: {\"agent\":\"tutor\",\"text\":\"First\\nthings first.\"}\n\n";
/// assert_eq!(event.to_sse(), frame);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// The text of an agent with [`tell_reasoning`](super::Agent::tell_reasoning), before the tools that it asks for
    /// are called.
    AgentReasoning {
        /// The agent.
        agent: String,
        /// The text of the model.
        text: String,
    },
    /// A tool is about to be called, or to be refused.
    ToolCall {
        /// The tool.
        tool: String,
        /// Its input.
        input: Value,
    },
    /// A tool reports its progress, or an artifact that it has made.
    ToolProgress {
        /// The tool.
        tool: String,
        /// The progress, as the tool reports it.
        data: Value,
    },
    /// A call has ended, in whatever way.
    ToolResult {
        /// The tool.
        tool: String,
        /// The beginning of the text of the result that the model reads.
        summary: String,
    },
}

/// The maximum number of characters of a result that an event shows.
const SUMMARY: usize = 200;

/// The name of progress that a tool reports without a name.
const PROGRESS: &str = "tool_progress";

impl AgentEvent {
    /// Reads an event of a run; an event of something else gives nothing. A call that was refused gives two events.
    pub fn of(event: &RunEvent) -> Vec<Self> {
        match NodeEvent::of(event) {
            Some(NodeEvent::Reasoning(Reasoning { agent, text })) => {
                vec![Self::AgentReasoning { agent, text }]
            }
            Some(NodeEvent::ToolCall(event)) => Self::of_call(event),
            None => Vec::new(),
        }
    }

    fn of_call(ToolEvent { tool, kind, .. }: ToolEvent) -> Vec<Self> {
        match kind {
            ToolEventKind::Started { input } => vec![Self::ToolCall { tool, input }],
            ToolEventKind::Progress { data } => vec![Self::ToolProgress { tool, data }],
            ToolEventKind::Refused { input, text, .. } => vec![
                Self::ToolCall { tool: tool.clone(), input },
                Self::ToolResult { tool, summary: summary(&text) },
            ],
            ToolEventKind::Ended { text, .. } => vec![Self::ToolResult { tool, summary: summary(&text) }],
        }
    }

    /// Returns the name of the event. That of progress is the member `event` of its data, if that can be a name and is
    /// not one of the others'.
    pub fn name(&self) -> &str {
        match self {
            Self::AgentReasoning { .. } => "agent_reasoning",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolProgress { data, .. } => own_name(data).unwrap_or(PROGRESS),
            Self::ToolResult { .. } => "tool_result",
        }
    }

    /// Writes the event as one frame of a stream of server-sent events. Line ends in its texts are escaped, as they are
    /// in JSON.
    pub fn to_sse(&self) -> String {
        let data = match serde_json::to_value(self) {
            Ok(mut event) => event["data"].take(),
            // Texts and values always have a form in JSON.
            Err(error) => Value::String(error.to_string()),
        };
        format!("event: {}\ndata: {data}\n\n", self.name())
    }
}

/// An event of an [`Agent`](super::Agent) node, or of a node that runs tools.
pub(super) enum NodeEvent {
    Reasoning(Reasoning),
    ToolCall(ToolEvent),
}

impl NodeEvent {
    /// Reads an event of a run; `None` for an event of something else.
    pub(super) fn of(event: &RunEvent) -> Option<Self> {
        let EventKind::Custom { name, data, .. } = &event.kind else { return None };
        match name.as_str() {
            Reasoning::EVENT => data.decode().ok().map(Self::Reasoning),
            tool_runner::EVENT => data.decode().ok().map(Self::ToolCall),
            _ => None,
        }
    }
}

/// Returns the name that a tool gives to its progress.
fn own_name(data: &Value) -> Option<&str> {
    let name = data.get("event")?.as_str()?;
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_');
    (is_name && !["agent_reasoning", "tool_call", "tool_result"].contains(&name)).then_some(name)
}

/// Returns the beginning of a text, with a mark if there is more.
fn summary(text: &str) -> String {
    match text.char_indices().nth(SUMMARY) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_013_a_summary_is_two_hundred_characters_and_a_mark() {
        assert_eq!(summary(&"ä".repeat(200)), "ä".repeat(200));
        assert_eq!(summary(&"ä".repeat(201)), format!("{}...", "ä".repeat(200)));
    }

    #[test]
    fn s4_059_what_a_tool_makes_is_an_event_of_its_own_name() {
        let told = |data: Value| AgentEvent::ToolProgress { tool: "plan".into(), data };
        let made = told(serde_json::json!({ "event": "node_created", "id": 7 }));
        let frame = "event: node_created\ndata: {\"data\":{\"event\":\"node_created\",\"id\":7},\"tool\":\"plan\"}\n\n";
        assert_eq!((made.name(), made.to_sse().as_str()), ("node_created", frame));
        for name in ["", "tool_result", "a\nevent: b", "Node", "1"] {
            assert_eq!(told(serde_json::json!({ "event": name })).name(), "tool_progress", "{name:?}");
        }
        assert_eq!(told(serde_json::json!({ "event": 1 })).name(), "tool_progress");
    }

    #[test]
    fn s4_014_a_frame_has_a_name_a_line_of_json_and_an_empty_line() {
        let event = AgentEvent::ToolResult { tool: "a\"b".into(), summary: "one\r\ntwo\u{2028}three".into() };
        let frame = event.to_sse();
        let lines: Vec<_> = frame.split('\n').collect();
        let [name, data, "", ""] = lines[..] else { panic!("{frame:?}") };
        assert_eq!(name, "event: tool_result");
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(data, serde_json::json!({ "tool": "a\"b", "summary": "one\r\ntwo\u{2028}three" }));
        assert!(!frame.contains('\r'));
    }
}
