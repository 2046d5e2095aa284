//! The projection of a thread's log into the events of the protocol.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use superstep_core::records::{RunStatus, ThreadStatus};
use superstep_core::run::{CheckpointView, EventKind, Interrupt, RunEvent, Status};
use superstep_nodes::node::ModelChunk;
use superstep_nodes::tool::{ToolEvent, ToolEventKind, ToolOutcome};

use super::filter::{Channel, EventFilter};
use super::message::{self, Messages};
use crate::legacy::{TOOL, Track, is_of_framework, task_ended, task_started};
use crate::log::{Frame, LogEntry, Logged, Projection};
use crate::wire::values;

/// The events of a thread that a client asked for.
///
/// It follows the log from its beginning, and leaves out the events up to the number that the client has.
#[derive(Debug)]
pub(crate) struct Protocol {
    filter: EventFilter,
    track: Track,
    messages: Messages,
    /// The graphs of running subgraphs, by namespace.
    graphs: HashMap<String, String>,
    /// The questions that clients have.
    asked: HashSet<String>,
}

impl Protocol {
    /// Creates the projection for a filter.
    pub(crate) fn new(filter: EventFilter) -> Self {
        Self {
            filter,
            track: Track::default(),
            messages: Messages::default(),
            graphs: HashMap::new(),
            asked: HashSet::new(),
        }
    }

    fn on_event(&mut self, event: &RunEvent, view: Option<&CheckpointView>, out: &mut Out<'_>) {
        let path = &event.path;
        out.namespace = self.track.namespace(path);
        match &event.kind {
            EventKind::RunStarted { graph, resumes, .. } => {
                if !path.is_empty() {
                    self.graphs.insert(out.namespace.clone(), graph.to_string());
                    self.subgraph("started", out);
                }
                if resumes.is_some() {
                    self.values(event, view, out);
                }
            }
            EventKind::TaskStarted { step, task, node, .. } if node.as_str() != "__start__" => {
                let task = self.track.task(path, *step, *task, node.as_str());
                out.push(Channel::Tasks, "tasks", task_started(&self.track, path, &task));
            }
            EventKind::MessageChunk { step, task, node, .. } => {
                if let Some(chunk) = ModelChunk::of(event) {
                    let task = self.track.task(path, *step, *task, node.as_str());
                    out.all(Channel::Messages, "messages", self.messages.push(&task.namespace, &chunk));
                }
            }
            EventKind::Custom { name, data, .. } if name == TOOL => {
                if let Ok(event) = data.decode::<ToolEvent>() {
                    out.push(Channel::Tools, "tools", tool(&event));
                }
            }
            EventKind::Custom { name, data, .. } if !is_of_framework(name) => {
                let data: Value = data.decode().unwrap_or_default();
                let payload = json!({ "name": name, "payload": data });
                out.push(Channel::Custom(Some(name.clone())), "custom", payload);
            }
            EventKind::Update { step, task, node, writes, recorded } => {
                let place = self.track.task(path, *step, *task, node.as_str());
                let update = message::update(writes);
                out.all(
                    Channel::Messages,
                    "messages",
                    self.messages.finish(&place.namespace, &update, *recorded),
                );
                let compact = message::compact(&update);
                out.push(Channel::Updates, "updates", json!({ "node": node, "values": compact }));
                out.push(Channel::Tasks, "tasks", task_ended(&place, None, Some(update)));
            }
            EventKind::TaskFailed { step, task, node, error, retry_in_ms, handled, .. } => {
                let place = self.track.task(path, *step, *task, node.as_str());
                out.all(Channel::Messages, "messages", self.messages.fail(&place.namespace, &error.message));
                if retry_in_ms.is_none() && !handled {
                    out.push(Channel::Tasks, "tasks", task_ended(&place, Some(&error.message), None));
                }
            }
            EventKind::CheckpointSaved { .. } => self.checkpoint(event, view, out),
            EventKind::Interrupted { interrupts } => self.interrupted(interrupts, out),
            EventKind::RunFinished { status } if !path.is_empty() => {
                let ended = if matches!(status, Status::Finished) { "completed" } else { "interrupted" };
                self.subgraph(ended, out);
            }
            EventKind::RunFailed { .. } if !path.is_empty() => self.subgraph("failed", out),
            _ => {}
        }
    }

    fn values(&mut self, event: &RunEvent, view: Option<&CheckpointView>, out: &mut Out<'_>) {
        if view.is_none() {
            return;
        }
        let values: Value = self.track.values(&event.path).into();
        self.messages.mark(&values);
        out.push(Channel::Values, "values", message::compact(&values));
    }

    /// Adds a checkpoint and its state. Clients take the checkpoint for that of the next state.
    fn checkpoint(&mut self, event: &RunEvent, view: Option<&CheckpointView>, out: &mut Out<'_>) {
        let EventKind::CheckpointSaved { id, step, source, .. } = &event.kind else { return };
        let parent = view.and_then(|view| view.parent_config.as_ref()).map(|parent| &parent.checkpoint_id);
        let named = json!({ "id": id.to_string(), "parent_id": parent, "step": step, "source": source });
        out.push(Channel::Checkpoints, "checkpoints", named);
        if view.is_some_and(|view| view.metadata.source != "input") {
            self.values(event, view, out);
        }
    }

    /// Tells questions, each once: in the namespace of the graph whose node asks.
    fn interrupted(&mut self, interrupts: &[Interrupt], out: &mut Out<'_>) {
        for asked in interrupts {
            let id = asked.id.to_string();
            let question: Value = asked.question.decode().unwrap_or_default();
            let question = values::outgoing(&question);
            if self.asked.insert(id.clone()) {
                let data = json!({ "interrupt_id": id, "payload": question, "value": question });
                out.push(Channel::Input, "input.requested", data);
            }
        }
    }

    fn subgraph(&self, happened: &str, out: &mut Out<'_>) {
        let namespace = segments(&out.namespace);
        let trigger = namespace.last().and_then(|segment| segment.split(':').nth(1)).map(str::to_owned);
        let graph = self.graphs.get(&out.namespace);
        let data = json!({
            "event": happened, "namespace": namespace, "graph_name": graph, "trigger_call_id": trigger,
        });
        out.push(Channel::Lifecycle, "lifecycle", data);
    }

    fn ended(&self, status: RunStatus, thread: ThreadStatus, error: Option<&Value>, out: &mut Out<'_>) {
        let happened = match (status, thread) {
            (RunStatus::Error | RunStatus::Timeout, _) => "failed",
            (RunStatus::Interrupted, _) | (_, ThreadStatus::Interrupted) => "interrupted",
            _ => "completed",
        };
        let mut data = json!({ "event": happened, "graph_name": self.track.graph });
        if let Some(error) = error {
            data["error"] = error.get("message").cloned().unwrap_or_else(|| error.clone());
        }
        out.push(Channel::Lifecycle, "lifecycle", data);
    }
}

/// Returns an event of a tool's call.
fn tool(event: &ToolEvent) -> Value {
    let ToolEvent { call, tool, kind } = event;
    match kind {
        ToolEventKind::Started { input } => {
            json!({ "event": "tool-started", "tool_call_id": call, "tool_name": tool, "input": input })
        }
        ToolEventKind::Progress { data } => {
            json!({ "event": "tool-output-delta", "tool_call_id": call, "delta": data })
        }
        ToolEventKind::Ended { outcome: ToolOutcome::Ok, text } => {
            json!({ "event": "tool-finished", "tool_call_id": call, "output": text })
        }
        ToolEventKind::Ended { text, .. } | ToolEventKind::Refused { text, .. } => {
            json!({ "event": "tool-error", "tool_call_id": call, "message": text })
        }
        _ => json!({ "event": "tool-output-delta", "tool_call_id": call, "delta": null }),
    }
}

/// Returns the segments of a namespace.
fn segments(namespace: &str) -> Vec<String> {
    namespace.split('|').filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
}

impl Projection for Protocol {
    fn needs_view(&self, entry: &LogEntry) -> bool {
        let Logged::Event { event } = &entry.what else { return false };
        let is_state = matches!(
            event.kind,
            EventKind::CheckpointSaved { .. } | EventKind::RunStarted { resumes: Some(_), .. }
        );
        let needing = [Channel::Values, Channel::Messages, Channel::Tasks, Channel::Checkpoints];
        is_state && needing.iter().any(|channel| self.filter.wants(channel))
    }

    fn frames(&mut self, entry: &LogEntry, view: Option<&CheckpointView>) -> Vec<Frame> {
        self.track.follow(entry, view);
        let filter = self.filter.clone();
        let mut out = Out { filter: &filter, entry, namespace: String::new(), count: 0, frames: Vec::new() };
        match &entry.what {
            Logged::Begun { .. } => {
                let data = json!({ "event": "running", "graph_name": self.track.graph });
                out.push(Channel::Lifecycle, "lifecycle", data);
            }
            Logged::Event { event } => self.on_event(event, view, &mut out),
            Logged::Ended { status, thread, error } => self.ended(*status, *thread, error.as_ref(), &mut out),
        }
        out.frames
    }
}

/// The events of an entry that pass the filter.
struct Out<'e> {
    filter: &'e EventFilter,
    entry: &'e LogEntry,
    namespace: String,
    count: u64,
    frames: Vec<Frame>,
}

impl Out<'_> {
    /// Adds an event. An event that the client did not ask for uses up its number, too.
    fn push(&mut self, channel: Channel, method: &str, data: Value) {
        let seq = self.entry.number(self.count);
        let event_id = self.entry.id(self.count);
        self.count += 1;
        let namespace = segments(&self.namespace);
        let has_it = self.filter.since.is_some_and(|since| seq <= since);
        if has_it || !self.filter.passes(&channel, &namespace) {
            return;
        }
        let event = json!({
            "type": "event", "event_id": event_id, "seq": seq, "method": method,
            "params": { "namespace": namespace, "timestamp": self.entry.at_ms, "data": data },
        });
        self.frames.push(Frame { event: method.to_owned(), data: event, id: Some(seq.to_string()) });
    }

    fn all(&mut self, channel: Channel, method: &str, events: Vec<Value>) {
        for event in events {
            self.push(channel.clone(), method, event);
        }
    }
}

#[cfg(test)]
mod tests;
