//! The mode `events`: chains, models and tools, as LangChain's clients know them.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use superstep_core::run::{EventKind, PathSegment, RunEvent};
use superstep_nodes::model::ModelEvent;
use superstep_nodes::node::ModelChunk;
use superstep_nodes::tool::{ToolEvent, ToolEventKind, ToolOutcome};

use super::chat::{Chat, Piece};
use super::payload;
use super::projection::update_of;
use super::track::{TOOL, TaskPlace, Track, is_of_framework};
use crate::wire::ids;

/// The chains, models and tools of a run.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The inputs of running tasks, by task.
    inputs: HashMap<String, Value>,
    /// The inputs of running tools, by call.
    tools: HashMap<String, Value>,
    /// The messages that have begun, each with the task that writes it and what it is so far.
    models: Vec<(String, Piece)>,
    /// The piece of a message that was added last, for the other modes.
    piece: Option<Piece>,
}

/// An event's source: its name and its place.
struct From<'e> {
    name: &'e str,
    run: String,
    tags: Vec<String>,
    metadata: Map<String, Value>,
    parents: Vec<String>,
}

impl From<'_> {
    fn event(self, event: &str, data: Value) -> Value {
        json!({
            "event": event, "data": data, "name": self.name, "tags": self.tags, "run_id": self.run,
            "metadata": self.metadata, "parent_ids": self.parents,
        })
    }
}

fn graph(track: &Track) -> From<'_> {
    let (run, metadata) = (track.run.clone(), track.run_metadata());
    From { name: &track.graph, run, tags: Vec::new(), metadata, parents: Vec::new() }
}

/// Returns the ids of the chains above a task, from the run down.
fn parents(track: &Track, path: &[PathSegment]) -> Vec<String> {
    let above = (0..path.len()).map(|depth| {
        let segment = &path[depth];
        track.task(&path[..depth], segment.step, segment.task, segment.node.as_str()).id
    });
    std::iter::once(track.run.clone()).chain(above).collect()
}

fn node<'t>(track: &Track, path: &[PathSegment], task: &'t TaskPlace) -> From<'t> {
    let tags = vec![format!("graph:step:{}", task.step)];
    let metadata = track.task_metadata(task);
    From { name: &task.node, run: task.id.clone(), tags, metadata, parents: parents(track, path) }
}

fn inside<'n>(track: &Track, path: &[PathSegment], task: &TaskPlace, name: &'n str, id: &str) -> From<'n> {
    let mut from = From { name, run: ids::derived(&[&track.run, id]), ..node(track, path, task) };
    from.tags = vec!["seq:step:1".to_owned()];
    from.metadata.insert("checkpoint_ns".into(), task.namespace.as_str().into());
    from.parents.push(task.id.clone());
    from
}

fn model_name(piece: &Piece) -> &str {
    piece.model.as_deref().unwrap_or("model")
}

/// Returns the messages that a model is given: a list, as models take several conversations at once.
fn model_input(track: &Track, path: &[PathSegment]) -> Value {
    json!([track.values(path).remove("messages").unwrap_or_else(|| json!([]))])
}

fn model_end(track: &Track, path: &[PathSegment], task: &TaskPlace, piece: &Piece) -> Value {
    let end = json!({ "output": piece.so_far, "input": { "messages": model_input(track, path) } });
    inside(track, path, task, model_name(piece), &piece.id).event("on_chat_model_end", end)
}

impl Events {
    /// Returns the events of a run's end.
    pub(super) fn ended(&self, track: &Track) -> Vec<Value> {
        vec![graph(track).event("on_chain_end", json!({ "output": track.values(&[]) }))]
    }

    /// Returns the piece of a message that the last event added.
    pub(super) fn take_piece(&mut self) -> Option<Piece> {
        self.piece.take()
    }

    /// Returns the events of an event of the graph.
    pub(super) fn on(&mut self, track: &Track, chat: &mut Chat, event: &RunEvent) -> Vec<Value> {
        let path = &event.path;
        match &event.kind {
            EventKind::RunStarted { .. } if path.is_empty() => {
                *self = Self::default();
                vec![graph(track).event("on_chain_start", json!({ "input": {} }))]
            }
            EventKind::TaskStarted { step, task, node: name, .. } if name.as_str() != "__start__" => {
                let task = track.task(path, *step, *task, name.as_str());
                let input = track.input(path, &task);
                self.inputs.insert(task.id.clone(), input.clone());
                vec![node(track, path, &task).event("on_chain_start", json!({ "input": input }))]
            }
            EventKind::MessageChunk { step, task, node, .. } => {
                let Some(chunk) = ModelChunk::of(event) else { return Vec::new() };
                let task = track.task(path, *step, *task, node.as_str());
                let piece = chat.push(&chunk);
                let events = self.model(track, path, &task, &chunk, &piece);
                self.piece = Some(piece);
                events
            }
            EventKind::Custom { step, task, node, name, data } => {
                let task = track.task(path, *step, *task, node.as_str());
                if name == TOOL {
                    return self.tool(track, path, &task, data.decode().ok());
                }
                if is_of_framework(name) {
                    return Vec::new();
                }
                let data: Value = data.decode().unwrap_or_default();
                let mut from = inside(track, path, &task, name, name);
                from.run.clone_from(&task.id);
                vec![from.event("on_custom_event", data)]
            }
            EventKind::Update { step, task, node: name, writes, .. } => {
                let task = track.task(path, *step, *task, name.as_str());
                let update = update_of(writes);
                let input = self.inputs.remove(&task.id).unwrap_or_else(|| track.input(path, &task));
                let end = json!({ "output": update, "input": input });
                // Not every model says that its reply has ended.
                let open = self.models.extract_if(.., |(writer, _)| *writer == task.id);
                let models = open.map(|(_, piece)| model_end(track, path, &task, &piece));
                let mut events: Vec<Value> = models.collect();
                events.push(node(track, path, &task).event("on_chain_stream", json!({ "chunk": update })));
                events.push(node(track, path, &task).event("on_chain_end", end));
                events
            }
            EventKind::Interrupted { interrupts } if path.is_empty() => {
                let asked = json!({ "__interrupt__": payload::interrupts(interrupts) });
                vec![graph(track).event("on_chain_stream", json!({ "chunk": asked }))]
            }
            _ => Vec::new(),
        }
    }

    fn model(
        &mut self,
        track: &Track,
        path: &[PathSegment],
        task: &TaskPlace,
        chunk: &ModelChunk,
        piece: &Piece,
    ) -> Vec<Value> {
        let from = || inside(track, path, task, model_name(piece), &piece.id);
        let start = piece.is_first.then(|| {
            from().event("on_chat_model_start", json!({ "input": { "messages": model_input(track, path) } }))
        });
        let stream =
            piece.chunks.iter().map(|chunk| from().event("on_chat_model_stream", json!({ "chunk": chunk })));
        self.models.retain(|(_, open)| open.id != piece.id);
        let is_over = matches!(chunk.event, ModelEvent::Stop { .. });
        if !is_over {
            self.models.push((task.id.clone(), piece.clone()));
        }
        let end = is_over.then(|| model_end(track, path, task, piece));
        start.into_iter().chain(stream).chain(end).collect()
    }

    fn tool(
        &mut self,
        track: &Track,
        path: &[PathSegment],
        task: &TaskPlace,
        event: Option<ToolEvent>,
    ) -> Vec<Value> {
        let Some(ToolEvent { call, tool, kind, .. }) = event else { return Vec::new() };
        let from = || inside(track, path, task, &tool, &call);
        match kind {
            ToolEventKind::Started { input } => {
                self.tools.insert(call.clone(), input.clone());
                vec![from().event("on_tool_start", json!({ "input": input }))]
            }
            ToolEventKind::Ended { outcome, text } => {
                let input = self.tools.remove(&call).unwrap_or_default();
                let output = json!({
                    "content": text, "additional_kwargs": {}, "response_metadata": {}, "type": "tool", "name": tool,
                    "id": null, "tool_call_id": call, "artifact": null,
                    "status": if outcome == ToolOutcome::Ok { "success" } else { "error" },
                });
                vec![from().event("on_tool_end", json!({ "output": output, "input": input }))]
            }
            ToolEventKind::Refused { input, text, .. } => {
                vec![from().event("on_tool_error", json!({ "error": text, "input": input }))]
            }
            _ => Vec::new(),
        }
    }
}
