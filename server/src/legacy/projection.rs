//! The projection of a log into the stream of a client.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use superstep_core::run::{CheckpointView, EventKind, NamedWrite, PathSegment, RunEvent};
use superstep_nodes::node::ModelChunk;

use super::chat::{Chat, Piece};
use super::events::Events;
use super::payload;
use super::track::{TaskPlace, Track, is_of_framework};
use crate::log::{Frame, LogEntry, Logged, Projection};
use crate::wire::request::StreamMode;
use crate::wire::{time, values};

/// The stream of a run, or of all runs of a thread, in the modes that a client asked for.
#[derive(Debug)]
pub(crate) struct Legacy {
    modes: BTreeSet<StreamMode>,
    subgraphs: bool,
    has_ids: bool,
    /// `true` to tell the end of each run.
    tells_ends: bool,
    /// `true` to take the modes of each run.
    follows_runs: bool,
    /// The number of the last message that the client has seen.
    seen: u64,
    track: Track,
    chat: Chat,
    events: Events,
}

impl Legacy {
    /// Creates the projection for a run. `has_ids` is `true` for a run whose stream can be resumed.
    pub(crate) fn of_run(modes: &[StreamMode], subgraphs: bool, has_ids: bool) -> Self {
        Self {
            modes: modes.iter().copied().collect(),
            subgraphs,
            has_ids,
            tells_ends: false,
            follows_runs: false,
            seen: 0,
            track: Track::default(),
            chat: Chat::default(),
            events: Events::default(),
        }
    }

    /// Creates the projection for all runs of a thread, in these modes or in those of each run. The end of a run is a
    /// frame `metadata` with the status `run_done`.
    pub(crate) fn of_thread(modes: Option<&[StreamMode]>) -> Self {
        let own = Self::of_run(modes.unwrap_or_default(), false, true);
        Self { tells_ends: true, follows_runs: modes.is_none(), ..own }
    }

    /// Leaves out the messages up to this number. The projection follows the log from the beginning of the
    /// run nevertheless, so the messages after it are those of a client that was never away.
    pub(crate) fn after(self, seen: u64) -> Self {
        Self { seen, ..self }
    }

    fn has(&self, mode: StreamMode) -> bool {
        self.modes.contains(&mode)
    }

    /// Returns `true` if events of this subgraph are streamed.
    fn shows(&self, path: &[PathSegment]) -> bool {
        path.is_empty() || self.subgraphs
    }

    fn on_begun(entry: &LogEntry, out: &mut Out) {
        out.plain("metadata", json!({ "run_id": entry.run, "attempt": entry.attempt }));
    }

    fn on_event(&mut self, event: &RunEvent, view: Option<&CheckpointView>, out: &mut Out) {
        if self.has(StreamMode::Events) {
            out.events(self.events.on(&self.track, &mut self.chat, event));
        }
        if !self.shows(&event.path) {
            return;
        }
        out.namespace = self.track.namespace(&event.path);
        let path = &event.path;
        match &event.kind {
            EventKind::RunStarted { resumes: Some(_), .. } => self.values(view, path, out),
            EventKind::TaskStarted { step, task, node, .. } if node.as_str() != "__start__" => {
                let task = self.track.task(path, *step, *task, node.as_str());
                self.task(event, &task, "task", || payload::task_started(&self.track, path, &task), out);
            }
            EventKind::MessageChunk { step, task, node, .. } => {
                if let Some(chunk) =
                    ModelChunk::of(event).filter(|_| !self.has(StreamMode::Events) || self.has_messages())
                {
                    let task = self.track.task(path, *step, *task, node.as_str());
                    let piece = self.piece(&chunk);
                    self.message_piece(&piece, &task, out);
                }
            }
            EventKind::Custom { name, data, .. }
                if self.has(StreamMode::Custom) && !is_of_framework(name) =>
            {
                out.event("custom", data.decode().unwrap_or_default());
            }
            EventKind::Update { step, task, node, writes, recorded } => {
                let place = self.track.task(path, *step, *task, node.as_str());
                let is_cached = *recorded || self.track.is_cached(path, *task);
                self.update(event, &place, writes, is_cached, out);
            }
            EventKind::TaskFailed { step, task, node, error, retry_in_ms: None, handled: false, .. } => {
                let task = self.track.task(path, *step, *task, node.as_str());
                let ended = || payload::task_ended(&task, Some(&error.message), None);
                self.task(event, &task, "task_result", ended, out);
            }
            EventKind::CheckpointSaved { step, .. } => {
                if *step >= 0 && view.is_some_and(|view| view.metadata.source != "input") {
                    self.values(view, path, out);
                }
                if let Some(view) = view {
                    self.checkpoint(event, view, out);
                }
            }
            EventKind::Interrupted { interrupts } => {
                let paused = self.track.take_paused(path);
                let ended = payload::tasks_paused(&paused, path.len(), interrupts);
                for (task, ended) in paused.iter().zip(ended) {
                    self.task(event, task, "task_result", || ended, out);
                }
                self.interrupted(payload::interrupts(interrupts), path, out);
            }
            EventKind::BreakpointReached { .. } if self.has(StreamMode::Updates) => {
                out.event("updates", json!({ "__interrupt__": [] }));
            }
            _ => {}
        }
    }

    fn has_messages(&self) -> bool {
        self.has(StreamMode::Messages) || self.has(StreamMode::MessagesTuple)
    }

    /// Returns a piece of a message, which the mode `events` may have added already.
    fn piece(&mut self, chunk: &ModelChunk) -> Piece {
        match self.events.take_piece() {
            Some(piece) => piece,
            None => self.chat.push(chunk),
        }
    }

    fn message_piece(&self, piece: &Piece, task: &TaskPlace, out: &mut Out) {
        let mut metadata = self.track.task_metadata(task);
        metadata.insert("checkpoint_ns".into(), task.namespace.as_str().into());
        if let Some(model) = &piece.model {
            metadata.insert("ls_model_name".into(), model.as_str().into());
        }
        if self.has(StreamMode::MessagesTuple) {
            for chunk in &piece.chunks {
                out.event("messages", json!([chunk, metadata]));
            }
        }
        if self.has(StreamMode::Messages) {
            if piece.is_first {
                out.plain("messages/metadata", json!({ piece.id.as_str(): { "metadata": metadata } }));
            }
            if !piece.chunks.is_empty() {
                out.plain("messages/partial", json!([piece.so_far]));
            }
        }
    }

    fn update(
        &mut self,
        event: &RunEvent,
        task: &TaskPlace,
        writes: &[NamedWrite],
        cached: bool,
        out: &mut Out,
    ) {
        let update = update_of(writes);
        if self.has_messages() {
            let new = self.chat.complete(&update);
            for (id, message) in new.into_iter().filter(|_| !cached) {
                self.complete_message(&id, &message, task, out);
            }
        }
        if self.has(StreamMode::Updates) {
            let shown =
                if update.as_object().is_some_and(Map::is_empty) { Value::Null } else { update.clone() };
            let mut data = json!({ task.node.as_str(): shown });
            if cached {
                data["__metadata__"] = json!({ "cached": true });
            }
            out.event("updates", data);
        }
        self.task(event, task, "task_result", || payload::task_ended(task, None, Some(update)), out);
    }

    fn complete_message(&self, id: &str, message: &Value, task: &TaskPlace, out: &mut Out) {
        let metadata = self.track.task_metadata(task);
        if self.has(StreamMode::MessagesTuple) {
            out.event("messages", json!([message, metadata]));
        }
        if self.has(StreamMode::Messages) {
            out.plain("messages/metadata", json!({ id: { "metadata": metadata } }));
            out.plain("messages/complete", json!([message]));
        }
    }

    /// Tells the start or the end of a task, in the modes `tasks` and `debug`.
    fn task(
        &self,
        event: &RunEvent,
        task: &TaskPlace,
        kind: &str,
        payload: impl FnOnce() -> Value,
        out: &mut Out,
    ) {
        let modes = (self.has(StreamMode::Tasks), self.has(StreamMode::Debug));
        if modes == (false, false) {
            return;
        }
        let payload = payload();
        if modes.0 {
            out.event("tasks", payload.clone());
        }
        if modes.1 {
            out.event("debug", payload::debug(task.step, &time::text(event.at_ms), kind, payload));
        }
    }

    fn values(&mut self, view: Option<&CheckpointView>, path: &[PathSegment], out: &mut Out) {
        if view.is_none() {
            return;
        }
        let values: Value = self.track.values(path).into();
        if self.has_messages() {
            self.chat.mark(&values);
        }
        if self.has(StreamMode::Values) {
            out.event("values", values);
        }
    }

    fn checkpoint(&self, event: &RunEvent, view: &CheckpointView, out: &mut Out) {
        let namespace = out.namespace.clone();
        if self.has(StreamMode::Checkpoints) {
            out.event("checkpoints", payload::checkpoint(&self.track, &namespace, view));
        }
        if self.has(StreamMode::Debug) {
            let payload = payload::debug_checkpoint(&self.track, &namespace, view);
            let at = time::text(event.at_ms);
            out.event("debug", payload::debug(view.metadata.step, &at, "checkpoint", payload));
        }
    }

    /// Tells open questions: in `updates`, and as a state, which clients also get without that mode.
    fn interrupted(&self, asked: Value, path: &[PathSegment], out: &mut Out) {
        if self.has(StreamMode::Updates) {
            out.event("updates", json!({ "__interrupt__": asked }));
        }
        if self.has(StreamMode::Values) || !self.has(StreamMode::Updates) {
            let mut values = self.track.values(path);
            values.insert("__interrupt__".into(), asked);
            out.event("values", values.into());
        }
    }
}

/// Returns the writes of a task as an update in the form of clients.
pub(super) fn update_of(writes: &[NamedWrite]) -> Value {
    let writes = writes.iter().map(|write| (write.field.as_str(), write.value.decode().unwrap_or_default()));
    values::update(writes).into()
}

impl Projection for Legacy {
    fn needs_view(&self, entry: &LogEntry) -> bool {
        let only = [StreamMode::Updates, StreamMode::Custom];
        let Logged::Event { event } = &entry.what else { return false };
        let is_state = matches!(
            event.kind,
            EventKind::CheckpointSaved { .. } | EventKind::RunStarted { resumes: Some(_), .. }
        );
        is_state
            && self.modes.iter().any(|mode| !only.contains(mode))
            && (self.shows(&event.path) || self.has(StreamMode::Events))
    }

    fn frames(&mut self, entry: &LogEntry, view: Option<&CheckpointView>) -> Vec<Frame> {
        let mut out = Out::default();
        self.track.follow(entry, view);
        match &entry.what {
            Logged::Begun { modes, subgraphs, .. } => {
                if self.follows_runs {
                    (self.modes, self.subgraphs) = (modes.iter().copied().collect(), *subgraphs);
                }
                Self::on_begun(entry, &mut out);
            }
            Logged::Event { event } => self.on_event(event, view, &mut out),
            Logged::Ended { error, .. } => {
                if self.has(StreamMode::Events) && error.is_none() {
                    out.events(self.events.ended(&self.track));
                }
                if let Some(error) = error {
                    out.plain("error", error.clone());
                }
                if self.tells_ends {
                    out.plain("metadata", json!({ "status": "run_done", "run_id": entry.run }));
                }
            }
        }
        let numbered = (0..).zip(out.frames).filter(|(index, _)| entry.number(*index) > self.seen);
        let has_ids = self.has_ids;
        numbered.map(|(index, frame)| Frame { id: has_ids.then(|| entry.id(index)), ..frame }).collect()
    }
}

/// The frames of an entry.
#[derive(Debug, Default)]
struct Out {
    namespace: String,
    frames: Vec<Frame>,
}

impl Out {
    /// Adds a frame, named with the subgraph that it comes from.
    fn event(&mut self, event: &str, data: Value) {
        match self.namespace.as_str() {
            "" => self.plain(event, data),
            namespace => {
                let event = format!("{event}|{namespace}");
                self.plain(&event, data);
            }
        }
    }

    fn plain(&mut self, event: &str, data: Value) {
        self.frames.push(Frame { event: event.to_owned(), data, id: None });
    }

    fn events(&mut self, events: Vec<Value>) {
        for event in events {
            self.plain("events", event);
        }
    }
}

#[cfg(test)]
mod tests;
