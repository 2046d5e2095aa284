//! Runs that a client waits for.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use superstep::checkpoint::SqliteSaver;
use tempfile::TempDir;

use crate::client::{Client, ms_since, percentile, thread};
use crate::reference::Reference;
use crate::report::{Figure, median, round};
use crate::served::{Counter, Served, block_on, three};

const ROUNDS: usize = 5;
/// Runs of one client in a round.
const RUNS: usize = 200;
/// Runs of one client of the reference, which take a second each.
const REFERENCE_RUNS: usize = 5;
const CLIENTS: usize = 64;
/// The time for which many clients run.
const TIME: Duration = Duration::from_secs(3);

pub(crate) fn folder() -> TempDir {
    TempDir::new().expect("a folder for the file")
}

pub(crate) fn run() -> Value {
    json!({ "assistant_id": "three", "input": { "count": 1 } })
}

/// S1: resident memory of an idle server.
pub(crate) fn idle(reference: Option<&Reference>) -> Figure {
    let (mut values, mut baselines) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let folder = folder();
        let served = Served::start(&folder.path().join("idle.db"));
        std::thread::sleep(Duration::from_secs(1));
        values.push(served.kib("VmRSS") / 1024.0);
        baselines.push(reference.map_or(f64::NAN, Reference::kib) / 1024.0);
    }
    Figure { unit: "MB", values, baselines, extra: Map::new(), target: "the reference; ≤ 20 MB" }
}

/// Returns the times of runs of one client, in milliseconds.
async fn waited(address: SocketAddr, runs: usize) -> Vec<f64> {
    let mut client = Client::connect(address).await;
    let id = uuid();
    thread(&mut client, &id).await;
    let mut times = Vec::new();
    for _ in 0..runs {
        let begun = Instant::now();
        client.post(&format!("/threads/{id}/runs/wait"), &run()).await;
        times.push(ms_since(begun));
    }
    times
}

/// Returns an id that the reference accepts.
pub(crate) fn uuid() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Returns the times of runs in this process, in milliseconds.
async fn in_process(path: &Path, runs: usize) -> Vec<f64> {
    let graph = three().checkpointer(SqliteSaver::open(path).await.expect("a new file opens"));
    let thread = graph.thread("thread");
    let mut times = Vec::new();
    for _ in 0..runs {
        let begun = Instant::now();
        let run = thread.run(Counter::update().count(1)).await.expect("the run succeeds");
        times.push(ms_since(begun));
        assert_eq!(run.state.count, 4, "three nodes add");
    }
    times
}

/// S2: a run of three nodes by `runs/wait`, of one client.
pub(crate) fn one_client(reference: Option<&Reference>) -> Figure {
    let reference = reference.map(|reference| reference.address);
    block_on(async move {
        let (mut values, mut baselines, mut p99, mut p99_in_process) = (vec![], vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            let folder = folder();
            let served = Served::start(&folder.path().join("served.db"));
            waited(served.address, 10).await;
            let times = waited(served.address, RUNS).await;
            values.push(percentile(&times, 50.0));
            p99.push(percentile(&times, 99.0));
            let times = in_process(&folder.path().join("process.db"), RUNS).await;
            baselines.push(percentile(&times, 50.0));
            p99_in_process.push(percentile(&times, 99.0));
        }
        let mut extra = Map::new();
        extra.insert("p99_ms".into(), round(median(&p99)).into());
        extra.insert("p99_in_process_ms".into(), round(median(&p99_in_process)).into());
        if let Some(address) = reference {
            let p50 = percentile(&waited(address, REFERENCE_RUNS).await, 50.0);
            extra.insert("reference_ms".into(), round(p50).into());
            extra.insert("times_the_reference".into(), round(p50 / median(&values)).into());
        }
        let target = "thread.run in process, + ≤ 2 ms; ≤ 5 ms, p99 ≤ 20 ms; the reference ≥ 50 ×";
        Figure { unit: "ms a run", values, baselines, extra, target }
    })
}

/// Returns the runs a second of clients that each wait for one run after the other.
async fn rate(address: SocketAddr, time: Duration) -> f64 {
    let clients = (0..CLIENTS).map(|_| async move {
        let mut client = Client::connect(address).await;
        let id = uuid();
        thread(&mut client, &id).await;
        (client, id)
    });
    let clients = join_all(clients).await;
    let begun = Instant::now();
    let runs = clients.into_iter().map(|(mut client, id)| {
        tokio::spawn(async move {
            let mut done = 0_u32;
            while begun.elapsed() < time {
                client.post(&format!("/threads/{id}/runs/wait"), &run()).await;
                done += 1;
            }
            done
        })
    });
    let done: u32 = join_all(runs).await.into_iter().map(|done| done.expect("no client panics")).sum();
    f64::from(done) / begun.elapsed().as_secs_f64()
}

/// Returns the runs a second of as many tasks in this process.
async fn rate_in_process(path: &Path) -> f64 {
    let graph = three().checkpointer(SqliteSaver::open(path).await.expect("a new file opens"));
    let begun = Instant::now();
    let runs = (0..CLIENTS).map(|number| {
        let thread = graph.thread(format!("thread {number}"));
        tokio::spawn(async move {
            let mut done = 0_u32;
            while begun.elapsed() < TIME {
                let run = thread.run(Counter::update().count(1)).await.expect("the run succeeds");
                assert_eq!(run.state.count, 4, "three nodes add");
                done += 1;
            }
            done
        })
    });
    let done: u32 = join_all(runs).await.into_iter().map(|done| done.expect("no run panics")).sum();
    f64::from(done) / begun.elapsed().as_secs_f64()
}

/// S3: the same, of 64 clients on 64 threads.
pub(crate) fn many_clients(reference: Option<&Reference>) -> Figure {
    let reference = reference.map(|reference| reference.address);
    block_on(async move {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let folder = folder();
            let served = Served::start(&folder.path().join("served.db"));
            values.push(rate(served.address, TIME).await);
            baselines.push(rate_in_process(&folder.path().join("process.db")).await);
        }
        let mut extra = Map::new();
        if let Some(address) = reference {
            let rate = rate(address, 3 * TIME).await;
            extra.insert("reference_per_s".into(), round(rate).into());
            extra.insert("times_the_reference".into(), round(median(&values) / rate).into());
        }
        let target = "thread.run in process; ≥ 500 runs a second, ≥ 10 × the reference";
        Figure { unit: "runs/s", values, baselines, extra, target }
    })
}
