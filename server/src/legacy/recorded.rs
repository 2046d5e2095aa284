//! Logs of runs in this process, for tests of projections.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use superstep_core::checkpoint::{At, MemorySaver};
use superstep_core::id::{NodeName, ThreadId};
use superstep_core::records::{RunStatus, ThreadStatus};
use superstep_core::run::{
    AnyGraph, AnyState, CheckpointView, EventKind, Observer, RunEvent, Thread, View, Views,
};

use superstep_core::store::{MemoryStore, Store};

use crate::log::{Frame, LogEntry, Logged, Projection};
use crate::wire::request::StreamMode;

#[path = "../../examples/twins/graphs.rs"]
mod graphs;

pub(crate) use graphs::{agent, fanout, tooly};

pub(crate) fn saver() -> Arc<MemorySaver> {
    Arc::new(MemorySaver::new())
}

pub(crate) fn store() -> Store {
    MemoryStore::new().into()
}

#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<RunEvent>>>);

impl Observer for Events {
    fn on_event(&self, event: &RunEvent) {
        if !matches!(event.kind, EventKind::Values { .. }) {
            self.0.lock().unwrap().push(event.clone());
        }
    }

    fn views(&self) -> Views {
        View::Debug | View::Updates
    }
}

/// A log of runs on one thread, with the stored checkpoints.
pub(crate) struct Recorded {
    graph: AnyGraph,
    events: Events,
    pub(crate) log: Vec<(LogEntry, Option<CheckpointView>)>,
}

impl Recorded {
    pub(crate) fn of(graph: AnyGraph) -> Self {
        let events = Events::default();
        Self { graph: graph.observe(events.clone()), events, log: Vec::new() }
    }

    pub(crate) fn thread(&self) -> Thread<AnyState> {
        self.graph.thread("t")
    }

    /// Runs the graph, and returns the number of entries before the run.
    pub(crate) async fn run(&mut self, input: Value) -> usize {
        let ended = self.thread().run(input).await;
        self.end(ended.err().map(|error| error.to_string())).await
    }

    pub(crate) async fn answer(&mut self, answer: &Value) -> usize {
        let ended = self.thread().answer(answer).await;
        self.end(ended.err().map(|error| error.to_string())).await
    }

    /// Adds the events since the last run to the log.
    pub(crate) async fn end(&mut self, error: Option<String>) -> usize {
        let before = self.log.len();
        let run = format!("run-{before}");
        let graph = self.graph.name().to_string();
        self.push(
            &run,
            1,
            Logged::Begun {
                graph,
                assistant: "assistant".into(),
                metadata: Map::new(),
                modes: vec![StreamMode::Values],
                subgraphs: false,
            },
            None,
        );
        let events: Vec<RunEvent> = std::mem::take(&mut *self.events.0.lock().unwrap());
        let mut supersteps = Vec::new();
        for event in events {
            if let EventKind::SuperstepStarted { step, tasks, .. } = &event.kind {
                supersteps.push((event.path.clone(), *step, tasks.clone()));
            }
            let stored = match &event.kind {
                EventKind::CheckpointSaved { id, .. } => Some(*id),
                EventKind::RunStarted { resumes, .. } => *resumes,
                _ => None,
            };
            let mut view = None;
            if let Some(id) = stored {
                let mut below: ThreadId = "t".into();
                for (depth, segment) in event.path.iter().enumerate() {
                    let level = supersteps.iter().rev().find(|(path, step, _)| {
                        *step == segment.step && path.as_slice() == &event.path[..depth]
                    });
                    let (_, _, tasks) = level.expect("the superstep above has started");
                    below = below.below(tasks[segment.task as usize]);
                }
                let nodes: Vec<NodeName> = event.path.iter().map(|segment| segment.node.clone()).collect();
                view = self.thread().view_below(&nodes, &below, At::Id(id)).await.unwrap();
            }
            self.push(&run, event.at_ms, Logged::Event { event }, view);
        }
        let error = error.map(|message| serde_json::json!({ "error": "NodeError", "message": message }));
        let status = if error.is_some() { RunStatus::Error } else { RunStatus::Success };
        self.push(&run, 2, Logged::Ended { status, thread: ThreadStatus::Idle, error }, None);
        before
    }

    fn push(&mut self, run: &str, at_ms: u64, what: Logged, view: Option<CheckpointView>) {
        let seq = self.log.len() as u64 + 1;
        self.log.push((LogEntry { seq, at_ms, run: run.into(), attempt: 1, what }, view));
    }
}

/// Returns the frames of a log, with only the checkpoints that the projection asked for.
pub(crate) fn frames(
    projection: &mut dyn Projection,
    log: &[(LogEntry, Option<CheckpointView>)],
) -> Vec<Frame> {
    let frames = log.iter().flat_map(|(entry, view)| {
        let view = view.as_ref().filter(|_| projection.needs_view(entry));
        projection.frames(entry, view)
    });
    frames.collect()
}
