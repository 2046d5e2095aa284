//! Benchmarks of many threads on one file.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rusqlite::Connection;
use serde_json::Map;
use superstep::checkpoint::SqliteSaver;
use superstep::prelude::*;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::engine::{Counter, on_worker};
use crate::report::Figure;
use crate::storage::row_bytes;

const THREADS: u64 = 1_000;
const STEPS: u64 = 20;
const WORK: Duration = Duration::from_millis(1);
const ROUNDS: usize = 5;

async fn work(counter: Snapshot<Counter>) -> Update<Counter> {
    tokio::time::sleep(WORK).await;
    Counter::update().count(counter.count + 1)
}

fn graph() -> Graph<Counter> {
    let mut g = StateGraph::<Counter>::new("work");
    let work = g.node("work", work);
    g.edge(START, work);
    g.edge(work, work);
    g.edge(work, END);
    g.compile().expect("a loop is a sound graph").recursion_limit(STEPS)
}

/// Returns the time of running all threads at once, each step durable before the next, in milliseconds.
async fn driven(path: &Path) -> f64 {
    let graph = graph().checkpointer(SqliteSaver::open(path).await.expect("a new file opens"));
    let begun = Instant::now();
    let runs = (0..THREADS).map(|number| {
        let thread = graph.thread(format!("thread {number}"));
        tokio::spawn(async move { thread.run(Counter::update()).await.expect("the loop runs").state.count })
    });
    for count in join_all(runs).await {
        assert_eq!(count.expect("no run panics"), STEPS);
    }
    begun.elapsed().as_secs_f64() * 1_000.0
}

/// Runs a thread that inserts the rows that it receives, all available ones in one transaction, and then confirms
/// them.
fn group_commit(path: PathBuf, rows: mpsc::Receiver<(String, oneshot::Sender<()>)>) {
    let file = Connection::open(path).expect("a new file opens");
    file.pragma_update(None, "journal_mode", "WAL").expect("WAL is available");
    file.pragma_update(None, "synchronous", "FULL").expect("a known level");
    file.execute_batch("CREATE TABLE log (id INTEGER PRIMARY KEY, body TEXT)").expect("a new table");
    while let Ok(first) = rows.recv() {
        let mut told = Vec::new();
        file.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
        for (body, tell) in [first].into_iter().chain(rows.try_iter()) {
            let mut insert = file.prepare_cached("INSERT INTO log (body) VALUES (?1)").expect("a statement");
            insert.execute([body]).expect("an insert succeeds");
            told.push(tell);
        }
        file.execute_batch("COMMIT").expect("it is durable");
        for tell in told {
            tell.send(()).expect("its task waits");
        }
    }
}

/// Returns the time of the same sleeps and rows without an engine, in milliseconds.
async fn raw(path: PathBuf, bytes: usize) -> f64 {
    let (rows, received) = mpsc::channel();
    let writer = thread::spawn(move || group_commit(path, received));
    let begun = Instant::now();
    let tasks = (0..THREADS).map(|_| {
        let rows = rows.clone();
        tokio::spawn(async move {
            // The input and the start are checkpoints, too.
            for step in 0..STEPS + 2 {
                if step >= 2 {
                    tokio::time::sleep(WORK).await;
                }
                let (tell, told) = oneshot::channel();
                rows.send(("x".repeat(bytes), tell)).expect("the writer lives");
                told.await.expect("it is durable");
            }
        })
    });
    join_all(tasks).await.into_iter().for_each(|task| task.expect("no task panics"));
    let taken = begun.elapsed().as_secs_f64() * 1_000.0;
    drop(rows);
    writer.join().expect("the writer ends");
    taken
}

/// W8: 1,000 threads of 20 steps, each durable, against a bare group commit of the same rows.
pub(crate) fn many() -> Figure {
    on_worker(async {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let mut extra = Map::new();
        for _ in 0..ROUNDS {
            let folder = TempDir::new().expect("a folder for the files");
            let path = folder.path().join("threads.db");
            values.push(driven(&path).await);
            let bytes = row_bytes(&path) / (THREADS * (STEPS + 2));
            extra.insert("bytes_per_row".into(), bytes.into());
            baselines.push(raw(folder.path().join("raw.db"), bytes as usize).await);
        }
        Figure {
            unit: "ms", values, baselines, extra, target: "a bare group commit of the same rows, ≤ 2.5"
        }
    })
}
