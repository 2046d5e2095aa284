//! Tests of the service with its workers and its log, on graphs whose nodes wait for the test.

mod cancelling;
mod deadlines;
mod files;
mod lost;
mod others;
mod past;
mod recovery;
mod runs;
mod streams;
mod threads;
#[cfg(feature = "webhooks")]
mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_core::checkpoint::{Checkpointer, MemorySaver};
use superstep_core::error::NodeError;
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::node::{Ask, Emit, Snapshot};
use superstep_core::records::{RunRow, RunStatus};
use superstep_core::reducer::Append;
use superstep_core::run::{AnyGraph, CheckpointView, RunEvent};
use superstep_core::state::{State, Update};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{Clock, Resume, Scope, Service, ServiceOptions};
use crate::log::{Frame, LogEntry, Logged, Projection};
use crate::webhook::Webhooks;
use crate::wire::Failure;
use crate::wire::request::RunCreate;
use crate::wire::state_request::{HistoryRequest, StateAt, StateUpdate};
use crate::wire::thread::ThreadCreate;
use crate::work::WorkOptions;

/// The state of the graphs: the words that runs have added.
#[derive(State, Clone, Default, Serialize, Deserialize)]
pub(super) struct Words {
    #[reducer(Append)]
    words: Vec<String>,
    #[state(secret)]
    key: String,
}

/// The number of nodes of the graph `laps`.
const LAPS: usize = 6;

/// The clock of a test: the time of the paused runtime, ahead of others by a duration.
struct Paused(Instant, Duration);

impl superstep_core::store::Clock for Paused {
    fn now(&self) -> Duration {
        Duration::from_secs(1_700_000_000) + self.0.elapsed() + self.1
    }
}

/// Servers on one store.
pub(super) struct Rig {
    saver: Arc<dyn Checkpointer>,
    /// A permit lets one node `hold` pass.
    gate: Arc<Semaphore>,
    begun: Instant,
    webhooks: Webhooks,
}

impl Rig {
    fn new() -> Self {
        let (saver, gate) = (Arc::new(MemorySaver::new()), Arc::new(Semaphore::new(0)));
        Self { saver, gate, begun: Instant::now(), webhooks: Webhooks::default() }
    }

    fn graphs(&self) -> Vec<AnyGraph> {
        let shared = |graph: superstep_core::run::Graph<Words>| {
            graph.shared_checkpointer(Arc::clone(&self.saver)).erased()
        };
        let gate = || Arc::clone(&self.gate);
        vec![shared(holds(gate())), shared(laps(gate())), shared(asks()), shared(fails())]
    }

    /// Returns a server that has not started.
    fn stopped(&self) -> Service {
        self.ahead(Duration::ZERO)
    }

    /// Returns a server that has not started, and whose clock is ahead: claims of the others are over for it.
    fn ahead(&self, time: Duration) -> Service {
        let work = WorkOptions { lease: Duration::from_secs(3), ..WorkOptions::default() };
        let clock = Clock::from(Paused(self.begun, time));
        let options = ServiceOptions { webhooks: self.webhooks.clone(), ..ServiceOptions::default() };
        Service::with(self.graphs(), options, work, clock).expect("the graphs fit")
    }

    fn service(&self) -> Service {
        let service = self.stopped();
        service.start();
        service
    }
}

/// A graph that adds a word, waits at the gate with an event for each permit, and adds another word.
fn holds(gate: Arc<Semaphore>) -> superstep_core::run::Graph<Words> {
    let mut g = StateGraph::<Words>::new("holds");
    let first = g.node("first", || async { Words::update().words(["first"]) });
    let hold = g.node("hold", move |emit: Emit| {
        let gate = Arc::clone(&gate);
        async move {
            for part in 0..3 {
                emit.emit("part", &part);
            }
            gate.acquire().await.expect("the gate is never closed").forget();
            Words::update().words(["held"])
        }
    });
    let last = g.node("last", || async { Words::update().words(["last"]) });
    g.edge(START, first);
    g.edge(first, hold);
    g.edge(hold, last);
    g.edge(last, END);
    g.compile().expect("the graph is complete")
}

/// A graph of several nodes that each wait at the gate, and add a word.
fn laps(gate: Arc<Semaphore>) -> superstep_core::run::Graph<Words> {
    let mut g = StateGraph::<Words>::new("laps");
    let mut before = None;
    for lap in 0..LAPS {
        let gate = Arc::clone(&gate);
        let node = g.node(format!("lap {lap}"), move || {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.expect("the gate is never closed").forget();
                Words::update().words(["lap"])
            }
        });
        match before {
            None => g.edge(START, node),
            Some(before) => g.edge(before, node),
        };
        before = Some(node);
    }
    g.edge(before.expect("a node"), END);
    g.compile().expect("the graph is complete")
}

/// A graph that asks for a word.
fn asks() -> superstep_core::run::Graph<Words> {
    let mut g = StateGraph::<Words>::new("asks");
    let ask = g.node("ask", |ask: Ask<String, String>| async move {
        let word = ask.ask("which word?".to_owned()).await;
        Words::update().words([word])
    });
    g.edge(START, ask);
    g.edge(ask, END);
    g.compile().expect("the graph is complete")
}

/// A graph whose node fails.
fn fails() -> superstep_core::run::Graph<Words> {
    let mut g = StateGraph::<Words>::new("fails");
    let node = g.node("node", |words: Snapshot<Words>| async move {
        Err::<Update<Words>, _>(NodeError::terminal(format!("{} words", words.words.len())))
    });
    g.edge(START, node);
    g.edge(node, END);
    g.compile().expect("the graph is complete")
}

pub(super) fn scope() -> Scope {
    Scope::default()
}

impl Service {
    async fn test_thread(&self) -> String {
        let thread = self.create_thread(&scope(), ThreadCreate::default()).await.expect("a new thread");
        thread["thread_id"].as_str().expect("a text").to_owned()
    }

    async fn test_run(&self, thread: &str, body: Value) -> Result<RunRow, Failure> {
        self.create_run(&scope(), Some(thread), RunCreate::read(&body)?).await
    }

    /// Waits until a run has the status `running`, and its node waits at the gate.
    async fn test_held(&self, run: &RunRow) {
        loop {
            let row = self.0.records.run(&run.id).await.expect("a row").expect("the run exists");
            assert!(!row.status.is_terminal(), "run {} ended: {row:?}", run.id);
            let thread = self.graph("holds").expect("a graph").thread(run.thread.clone());
            let at = thread.head().await.map(|head| (head.step(), head.next())).unwrap_or_default();
            if row.status == RunStatus::Running && at.1 == ["hold".into()] {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn test_status(&self, run: &RunRow) -> Option<RunStatus> {
        self.ended(run).await.expect("a row").map(|row| row.status)
    }

    async fn test_state(&self, thread: &str) -> Value {
        self.state(&scope(), thread, StateAt::default()).await.expect("a state")
    }

    async fn test_history(&self, thread: &str) -> Vec<Value> {
        let request = HistoryRequest { limit: 100, ..HistoryRequest::default() };
        self.history(&scope(), thread, request).await.expect("a history")
    }
}

/// A projection that shows each entry with its number and kind.
struct Kinds(u64);

impl Projection for Kinds {
    fn needs_view(&self, _: &LogEntry) -> bool {
        false
    }

    fn frames(&mut self, entry: &LogEntry, _: Option<&CheckpointView>) -> Vec<Frame> {
        if entry.number(0) <= self.0 {
            return Vec::new();
        }
        let data = match &entry.what {
            Logged::Begun { .. } => json!(["begun", entry.attempt]),
            Logged::Event { event: RunEvent { kind, .. } } => json!(kind),
            Logged::Ended { status, .. } => json!(["ended", status]),
        };
        vec![Frame { event: entry.run.clone(), data, id: Some(entry.id(0)) }]
    }
}

/// Returns the number of a frame.
fn number(frame: &Frame) -> u64 {
    let id = frame.id.as_ref().expect("an id");
    id.rsplit('-').next().and_then(|number| number.parse().ok()).expect("a number")
}

async fn all_frames(service: &Service, run: &RunRow, resume: Resume) -> Vec<Frame> {
    service.run_frames(run, kinds, resume).await.expect("a stream").collect().await
}

fn kinds(seen: u64) -> Box<dyn Projection> {
    Box::new(Kinds(seen))
}
