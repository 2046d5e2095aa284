//! Servers on one Postgres database wake each other, with few statements and without `NOTIFY` in a transaction that stores
//! something.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_checkpoint::PostgresSaver;
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::node::{Emit, Snapshot};
use superstep_core::reducer::Append;
use superstep_core::run::CancellationToken;
use superstep_core::state::State;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::ALONE;
use crate::cluster::Cluster;
use crate::http::{Response, send};
use crate::recording::{Recording, Statement};

/// The longest time until a signal has its effect on a busy machine: less than the second after which the queue is read.
const SOON: Duration = Duration::from_millis(900);

static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

fn now_us() -> u64 {
    u64::try_from(BEGUN.elapsed().as_micros()).expect("a short time")
}

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Work {
    /// The number of events.
    parts: u64,
    /// The times at which nodes began, in microseconds.
    #[reducer(Append)]
    began: Vec<u64>,
}

/// A server of one graph, whose node tells the time, waits at the gate, and sends parts.
struct Server {
    port: u16,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(recording: &Recording, schema: &str, workers: usize, gate: &Arc<Semaphore>) -> Self {
        let saver = PostgresSaver::options().schema(schema).open(recording.url()).await.expect("it opens");
        let mut g = StateGraph::<Work>::new("work");
        let gate = Arc::clone(gate);
        let node = g.node("node", move |work: Snapshot<Work>, emit: Emit| {
            let gate = Arc::clone(&gate);
            async move {
                let began = now_us();
                drop(gate.acquire().await.expect("the gate is never closed"));
                for _ in 0..work.parts {
                    emit.emit("part", &now_us());
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Work::update().began([began])
            }
        });
        g.edge(START, node);
        g.edge(node, END);
        let graph = g.compile().expect("the graph is complete").checkpointer(saver);
        let server = superstep_server::serve(&[&graph]).workers(workers);
        let listening = server.listen("127.0.0.1:0").await.expect("it listens");
        let (port, stop) = (listening.address().port(), CancellationToken::new());
        let stopped = stop.clone();
        let task = tokio::spawn(async move { listening.until(stopped.cancelled()).await });
        Self { port, stop, task }
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let response = send(self.port, "POST", path, None, &body).await.expect("an answer");
        assert_eq!(response.status, 200, "{path}");
        response.json().await.expect("a document")
    }

    async fn stream(&self, path: &str) -> Response {
        send(self.port, "GET", path, Some("-1"), &Value::Null).await.expect("a stream")
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.expect("it has ended");
    }
}

fn run_of(parts: u64) -> Value {
    json!({
        "assistant_id": "work", "input": { "parts": parts }, "stream_mode": ["custom", "values"],
        "stream_resumable": true,
    })
}

fn is_signal(statement: &Statement) -> bool {
    statement.sql.to_lowercase().contains("notify")
}

/// Waits until so many connections listen.
async fn listening(recording: &Recording, count: usize) {
    let listens = |statement: &Statement| statement.sql.starts_with("LISTEN ");
    while recording.statements().iter().filter(|statement| listens(statement)).count() < count {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The answer is on its way.
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Returns the value below which this part of them is.
fn quantile(times: &mut [Duration], part: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * part).round() as usize]
}

/// A server that drives no run accepts them; another one, which is idle, drives them. A client reads their events at the
/// first one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_idle_server_begins_runs_of_another_one_whose_clients_get_the_events_soon() {
    let Some(cluster) = Cluster::shared() else { return };
    let _alone = ALONE.lock().await;
    let recording = Recording::of(cluster.folder());
    let gate = Arc::new(Semaphore::new(1_000));
    let accepts = Server::start(&recording, "signals_idle", 0, &gate).await;
    let drives = Server::start(&recording, "signals_idle", 8, &gate).await;
    listening(&recording, 2).await;
    let (mut begins, mut arrivals) = (Vec::new(), Vec::new());
    let since = Instant::now();
    for _ in 0..20 {
        let thread = accepts.post("/threads", json!({})).await["thread_id"].clone();
        let runs = format!("/threads/{}/runs", thread.as_str().expect("an id"));
        let run = accepts.post(&runs, run_of(5)).await["run_id"].clone();
        let accepted = now_us();
        let mut stream = accepts.stream(&format!("{runs}/{}/stream", run.as_str().expect("an id"))).await;
        let mut last = Value::Null;
        while let Some(event) = stream.event().await.expect("the stream does not break off") {
            if event.name == "custom" {
                let sent = event.data["data"].as_u64().or(event.data.as_u64()).expect("a time");
                arrivals.push(Duration::from_micros(now_us().saturating_sub(sent)));
            }
            last = event.data;
        }
        let began = last["began"][0].as_u64().expect("the time of the node");
        begins.push(Duration::from_micros(began.saturating_sub(accepted)));
        // The next run meets an idle server.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (begin, arrival) = (quantile(&mut begins, 0.9), quantile(&mut arrivals, 0.9));
    eprintln!(
        "begin: {:?}, {begin:?}; arrival: {:?}, {arrival:?}",
        quantile(&mut begins, 0.5),
        quantile(&mut arrivals, 0.5)
    );
    assert!(begin < SOON && arrival < SOON, "{begins:?}, {arrivals:?}");

    let statements = recording.statements();
    let signals: Vec<&Statement> = statements.iter().filter(|statement| is_signal(statement)).collect();
    assert!(!signals.is_empty(), "no server has told the other one of its changes");
    let connections: BTreeSet<usize> = signals.iter().map(|signal| signal.connection).collect();
    // A statement of its own is a transaction of its own. Functions were created by statements, too.
    for statement in statements.iter().filter(|statement| connections.contains(&statement.connection)) {
        let is_alone = statement.sql.starts_with("LISTEN ")
            || statement.sql == "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
        assert!(is_alone, "a connection for signals does something else: {statement:?}");
    }
    for connection in connections {
        let of = signals.iter().filter(|signal| signal.connection == connection).count() as f64;
        assert!(of <= since.elapsed().as_secs_f64() * 20.0 + 1.0, "{of} signals in {:?}", since.elapsed());
    }
    accepts.end().await;
    drives.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_connection_for_signals_is_opened_again() {
    let Some(cluster) = Cluster::shared() else { return };
    let _alone = ALONE.lock().await;
    let recording = Recording::of(cluster.folder());
    let gate = Arc::new(Semaphore::new(1_000));
    let accepts = Server::start(&recording, "signals_cut", 0, &gate).await;
    let drives = Server::start(&recording, "signals_cut", 8, &gate).await;
    listening(&recording, 2).await;
    recording.cut();
    listening(&recording, 4).await;
    let mut begins = Vec::new();
    for _ in 0..5 {
        let thread = accepts.post("/threads", json!({})).await["thread_id"].clone();
        let path = format!("/threads/{}/runs/wait", thread.as_str().expect("an id"));
        let sent = now_us();
        let values = accepts.post(&path, run_of(0)).await;
        begins.push(Duration::from_micros(values["began"][0].as_u64().expect("a time") - sent));
    }
    assert!(quantile(&mut begins, 0.5) < SOON, "{begins:?}");
    accepts.end().await;
    drives.end().await;
}

/// A process that holds many leases extends them together, and looks for nothing that signals tell.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_held_runs_cost_few_statements() {
    const RUNS: usize = 200;
    let Some(cluster) = Cluster::shared() else { return };
    let _alone = ALONE.lock().await;
    let recording = Recording::of(cluster.folder());
    let gate = Arc::new(Semaphore::new(0));
    let server = Server::start(&recording, "signals_many", RUNS, &gate).await;
    listening(&recording, 1).await;
    let runs: Vec<Value> = (0..RUNS).map(|_| run_of(0)).collect();
    let runs = server.post("/runs/batch", json!(runs)).await;
    let runs = runs.as_array().expect("a list");
    assert_eq!(runs.len(), RUNS);
    let is_running = async |run: &Value| {
        let path = format!(
            "/threads/{}/runs/{}",
            run["thread_id"].as_str().expect("an id"),
            run["run_id"].as_str().expect("an id")
        );
        let response = send(server.port, "GET", &path, None, &Value::Null).await.expect("an answer");
        response.json().await.expect("a run")["status"] == "running"
    };
    for run in runs {
        while !is_running(run).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (since, time) = (recording.statements().len(), Duration::from_secs(10));
    tokio::time::sleep(time).await;
    let statements = recording.statements().split_off(since);
    let a_second = statements.len() as f64 / time.as_secs_f64();
    eprintln!("{a_second} statements a second for {RUNS} held runs");
    assert!(a_second <= 20.0, "{:#?}", statements.iter().map(|statement| &statement.sql).collect::<Vec<_>>());
    let beats = |name: &str| statements.iter().filter(|statement| statement.sql.contains(name)).count();
    assert!((1..=4).contains(&beats(".renew_all(")) && (1..=4).contains(&beats(".beat(")), "{statements:#?}");
    gate.add_permits(RUNS);
    server.end().await;
}
