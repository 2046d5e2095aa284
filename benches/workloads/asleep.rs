//! Runs that wait inside a node: what each holds.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Map, Value};
use superstep::checkpoint::SqliteSaver;
use superstep::prelude::*;
use tempfile::TempDir;

use crate::engine::{Counter, on_worker};
use crate::fresh;
use crate::report::{Figure, median, round};

/// Runs that are asleep at once.
const RUNS: u64 = 10_000;
/// Runs that are asleep before anything is measured.
const WARM: u64 = 100;
const ROUNDS: usize = 5;
/// The sleep, longer than the workload.
const SLEEP: Duration = Duration::from_secs(3_600);

/// The number of runs that sleep.
type Sleeping = Arc<AtomicU64>;

fn graph(sleeping: &Sleeping) -> Graph<Counter> {
    let sleeping = Arc::clone(sleeping);
    let mut g = StateGraph::<Counter>::new("sleep");
    let sleep = g.node("sleep", move |counter: Snapshot<Counter>| {
        sleeping.fetch_add(1, Ordering::Relaxed);
        async move {
            tokio::time::sleep(SLEEP).await;
            Counter::update().count(counter.count + 1)
        }
    });
    g.edge(START, sleep);
    g.edge(sleep, END);
    g.compile().expect("a graph of one node is sound")
}

/// Waits until so many runs sleep.
async fn until(sleeping: &Sleeping, runs: u64) {
    while sleeping.load(Ordering::Relaxed) < runs {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The resident bytes of each of the runs that `start` starts.
async fn bytes_each(sleeping: Sleeping, start: impl Fn(u64)) -> Map<String, Value> {
    (0..WARM).for_each(&start);
    until(&sleeping, WARM).await;
    let before = fresh::kib("VmRSS");
    (WARM..WARM + RUNS).for_each(&start);
    until(&sleeping, WARM + RUNS).await;
    let each = (fresh::kib("VmRSS") - before) * 1_024.0 / RUNS as f64;
    Map::from_iter([("bytes".to_owned(), each.into())])
}

async fn runs(graph: Graph<Counter>, sleeping: Sleeping) -> Map<String, Value> {
    let start = move |number: u64| {
        let thread = graph.thread(format!("thread {number}"));
        tokio::spawn(async move { thread.run(Counter::update()).await.expect("it is never over") });
    };
    bytes_each(sleeping, start).await
}

/// The floor: a spawned loop over the state, asleep.
pub(crate) fn by_hand(_: &Path) -> Map<String, Value> {
    on_worker(async {
        let sleeping = Sleeping::default();
        let count = Arc::clone(&sleeping);
        let start = move |number: u64| {
            let count = Arc::clone(&count);
            tokio::spawn(async move {
                let (name, mut state) = (format!("thread {number}"), Arc::new(Counter::default()));
                let snapshot = Arc::clone(&state);
                let node: std::pin::Pin<Box<dyn Future<Output = u64> + Send>> = Box::pin(async move {
                    count.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(SLEEP).await;
                    snapshot.count + 1
                });
                Arc::make_mut(&mut state).count = node.await;
                println!("{name}: {}", state.count);
            });
        };
        bytes_each(sleeping, start).await
    })
}

/// Runs without a saver.
pub(crate) fn without_saver(_: &Path) -> Map<String, Value> {
    on_worker(async {
        let sleeping = Sleeping::default();
        runs(graph(&sleeping), sleeping).await
    })
}

/// Runs with the in-memory saver.
pub(crate) fn in_memory(_: &Path) -> Map<String, Value> {
    on_worker(async {
        let sleeping = Sleeping::default();
        runs(graph(&sleeping).checkpointer(MemorySaver::new()), sleeping).await
    })
}

/// Runs with a file.
pub(crate) fn in_file(path: &Path) -> Map<String, Value> {
    let path = path.to_owned();
    on_worker(async {
        let sleeping = Sleeping::default();
        let saver = SqliteSaver::open(path).await.expect("a new file opens");
        runs(graph(&sleeping).checkpointer(saver), sleeping).await
    })
}

/// W24: 10,000 runs asleep in a node, bytes each, against a bare task that sleeps.
pub(crate) fn asleep() -> Figure {
    let (mut values, mut baselines) = (Vec::new(), Vec::new());
    let (mut in_memory, mut in_file) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let folder = TempDir::new().expect("a folder for the file");
        let path = folder.path().join("asleep.db");
        let bytes = |task| fresh::number(&fresh::measure(task, &path), "bytes");
        baselines.push(bytes("asleep by hand"));
        values.push(bytes("asleep"));
        in_memory.push(bytes("asleep in memory"));
        in_file.push(bytes("asleep in a file"));
    }
    let mut extra = Map::new();
    extra.insert("bytes_with_memory_saver".into(), round(median(&in_memory)).into());
    extra.insert("bytes_with_sqlite".into(), round(median(&in_file)).into());
    let target = "a task that sleeps; ≤ 6,144 bytes, ≤ 10,240 with SQLite";
    Figure { unit: "bytes/run", values, baselines, extra, target }
}
