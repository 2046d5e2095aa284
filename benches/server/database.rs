//! Servers that share their runs on a Postgres database. The baseline of a time is its target.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use superstep::checkpoint::{Checkpointer, PostgresSaver};
use superstep::prelude::*;
use superstep::run::CancellationToken;
use tokio::task::JoinHandle;

use crate::client::{Client, percentile, thread};
use crate::cluster::Cluster;
use crate::reference::Reference;
use crate::report::{Figure, median, round};
use crate::runs::{run, uuid};
use crate::served::{Counter, block_on, chunks, now_us, three};

const ROUNDS: usize = 3;
/// Runs whose begin is measured, of a hundred chunks each.
const RUNS: usize = 40;
const WRITERS: usize = 64;
const STREAMS: usize = 1_000;
/// The time for which writers run.
const TIME: Duration = Duration::from_secs(5);
const HELD: usize = 1_000;
const THREADS: usize = 10_000;
/// The time for which an idle server is observed.
const IDLE: Duration = Duration::from_secs(20);

/// A server in this process, with connections of its own.
struct Shared {
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Shared {
    async fn start(cluster: &Cluster, schema: &str, workers: usize) -> Self {
        let options = PostgresSaver::options().schema(schema);
        let saver = options.open(cluster.url("superstep")).await.expect("the database opens");
        let saver: Arc<dyn Checkpointer> = Arc::new(saver);
        let (three, chunks, held) = (
            three().shared_checkpointer(saver.clone()),
            chunks().shared_checkpointer(saver.clone()),
            held().shared_checkpointer(saver),
        );
        let server = superstep::serve(&[&three, &chunks, &held]).workers(workers);
        let server =
            server.limits(|limits| (limits.connections, limits.streams) = (4 * STREAMS, 4 * STREAMS));
        let listening = server.listen("127.0.0.1:0").await.expect("it listens");
        let (address, stop) = (listening.address(), CancellationToken::new());
        let stopped = stop.clone();
        let task = tokio::spawn(async move { listening.until(stopped.cancelled()).await });
        // Its connection for signals is open.
        tokio::time::sleep(Duration::from_millis(500)).await;
        Self { address, stop, task }
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.expect("the server ends");
    }
}

/// A graph whose node waits for a long time.
fn held() -> Graph<Counter> {
    let mut g = StateGraph::<Counter>::new("held");
    let wait = g.node("wait", async || {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        Counter::update()
    });
    g.edge(START, wait);
    g.edge(wait, END);
    g.compile().expect("a graph of one node is sound")
}

/// Starts a run at a server that drives none, and reads its stream there. Returns the time until its node began, and those from
/// the emission of its chunks to their arrival, in milliseconds.
async fn followed(accepts: SocketAddr) -> (f64, Vec<f64>) {
    let mut client = Client::connect(accepts).await;
    let id = uuid();
    thread(&mut client, &id).await;
    let body = json!({
        "assistant_id": "chunks", "input": {}, "stream_mode": "custom", "stream_resumable": true,
    });
    let run: Value =
        serde_json::from_slice(&client.post(&format!("/threads/{id}/runs"), &body).await).expect("a run");
    let accepted = now_us();
    let path = format!("/threads/{id}/runs/{}/stream", run["run_id"].as_str().expect("an id"));
    let (status, _) = client.begin("GET", &path, "").await;
    assert_eq!(status, 200, "the stream opens");
    let (mut text, mut begun, mut delays) = (String::new(), None, Vec::new());
    while let Some(part) = client.part().await {
        text.push_str(&String::from_utf8_lossy(&part));
        let now = now_us();
        while let Some((event, rest)) = text.split_once("\n\n") {
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            let at = data.filter(|_| event.starts_with("event: custom")).and_then(|at| at.parse().ok());
            if let Some(at) = at {
                begun.get_or_insert(at);
                delays.push(now.saturating_sub(at) as f64 / 1e3);
            }
            text = rest.to_owned();
        }
    }
    let begun: u64 = begun.expect("the node has begun");
    (begun.saturating_sub(accepted) as f64 / 1e3, delays)
}

fn unavailable() -> Figure {
    let extra = Map::from_iter([("skipped".to_owned(), "there is no Postgres".into())]);
    Figure { unit: "-", values: vec![f64::NAN], baselines: vec![f64::NAN], extra, target: "-" }
}

/// Returns the begins and delays of runs at an idle server.
fn of_another(schema: &'static str) -> Option<(Vec<f64>, Vec<f64>)> {
    let cluster = Cluster::shared()?;
    Some(block_on(async move {
        let (accepts, drives) =
            (Shared::start(&cluster, schema, 0).await, Shared::start(&cluster, schema, 64).await);
        let (mut begins, mut delays) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let (begin, of_run) = followed(accepts.address).await;
            begins.push(begin);
            delays.extend(of_run);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        accepts.end().await;
        drives.end().await;
        (begins, delays)
    }))
}

/// S11: from the acceptance of a run to its first node, at another server that is idle.
pub(crate) fn begin(_: Option<&Reference>) -> Figure {
    let Some((begins, _)) = of_another("s11") else { return unavailable() };
    let extra = Map::from_iter([("p50_ms".to_owned(), round(percentile(&begins, 50.0)).into())]);
    let values = vec![percentile(&begins, 99.0)];
    Figure { unit: "ms, p99", values, baselines: vec![50.0], extra, target: "p50 ≤ 10 ms, p99 ≤ 50 ms" }
}

/// S12: from the emission of a chunk to its arrival at a client of another server.
pub(crate) fn chunk(_: Option<&Reference>) -> Figure {
    let Some((_, delays)) = of_another("s12") else { return unavailable() };
    let extra = Map::from_iter([("p50_ms".to_owned(), round(percentile(&delays, 50.0)).into())]);
    let values = vec![percentile(&delays, 95.0)];
    Figure { unit: "ms, p95", values, baselines: vec![150.0], extra, target: "≤ 150 ms" }
}

/// Returns the supersteps a second of 64 clients that run a graph of three nodes.
async fn steps(address: SocketAddr) -> f64 {
    let begun = Instant::now();
    let writers = (0..WRITERS).map(|_| {
        tokio::spawn(async move {
            let mut client = Client::connect(address).await;
            let (id, mut steps) = (uuid(), 0);
            thread(&mut client, &id).await;
            while begun.elapsed() < TIME {
                client.post(&format!("/threads/{id}/runs/wait"), &run()).await;
                steps += 3;
            }
            steps
        })
    });
    let steps: u32 = join_all(writers).await.into_iter().map(|steps| steps.expect("no client panics")).sum();
    f64::from(steps) / begun.elapsed().as_secs_f64()
}

/// S13: 64 writers at one server while 1,000 streams are open at another one.
pub(crate) fn writers(_: Option<&Reference>) -> Figure {
    let Some(cluster) = Cluster::shared() else { return unavailable() };
    block_on(async move {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let schema = format!("s13_{round}");
            let (one, other) =
                (Shared::start(&cluster, &schema, 64).await, Shared::start(&cluster, &schema, 0).await);
            steps(one.address).await;
            baselines.push(steps(one.address).await);
            let streams = join_all((0..STREAMS).map(|number| async move {
                let mut client = Client::connect(other.address).await;
                let (status, _) = client.begin("GET", &format!("/threads/idle-{number}/stream"), "").await;
                assert_eq!(status, 200, "the stream opens");
                client
            }));
            let streams = streams.await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            values.push(steps(one.address).await);
            drop(streams);
            one.end().await;
            other.end().await;
        }
        let extra = Map::from_iter([("without_streams".to_owned(), round(median(&baselines)).into())]);
        Figure { unit: "steps/s", values, baselines, extra, target: "without streams; ≥ 0.9 ×" }
    })
}

/// Returns the number of transactions of the database so far.
fn transactions(cluster: &Cluster) -> f64 {
    let sql = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'postgres'";
    let mut psql = Command::new("psql");
    psql.arg("-h").arg(cluster.folder()).args(["-U", "superstep", "-d", "postgres", "-At", "-c", sql]);
    let output = psql.output().expect("psql runs");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

/// S14: statements of a server with 10,000 idle threads and 1,000 runs that wait in a node.
pub(crate) fn idle(_: Option<&Reference>) -> Figure {
    let Some(cluster) = Cluster::shared() else { return unavailable() };
    block_on(async move {
        let server = Shared::start(&cluster, "s14", HELD).await;
        let address = server.address;
        let made = (0..16).map(|_| async move {
            let mut client = Client::connect(address).await;
            for _ in 0..THREADS / 16 {
                client.post("/threads", &json!({})).await;
            }
        });
        join_all(made).await;
        let mut client = Client::connect(address).await;
        for _ in 0..HELD / 100 {
            let runs: Vec<Value> =
                (0..100).map(|_| json!({ "assistant_id": "held", "input": { "count": 1 } })).collect();
            client.post("/runs/batch", &json!(runs)).await;
        }
        // The server counts once a second and later.
        tokio::time::sleep(Duration::from_secs(15)).await;
        let before = transactions(&cluster);
        tokio::time::sleep(IDLE).await;
        let each = (transactions(&cluster) - before) / IDLE.as_secs_f64();
        let (extra, target) = (Map::new(), "≤ 20");
        // The runs never end: the process does not wait for them.
        drop(server);
        Figure { unit: "statements/s", values: vec![each], baselines: vec![20.0], extra, target }
    })
}
