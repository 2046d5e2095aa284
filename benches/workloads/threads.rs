//! Benchmarks of many threads on one file.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::Map;
use superstep::checkpoint::SqliteSaver;
use superstep::prelude::*;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::engine::{Counter, on_worker};
use crate::floor::Ledger;
use crate::report::{Figure, round};
use crate::storage::{row_bytes, sync_us};

const THREADS: u32 = 1_000;
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

/// A checkpoint to be stored on a head, and the sender of the new head.
struct Row {
    thread: u32,
    head: Option<i64>,
    body: String,
    tell: oneshot::Sender<i64>,
}

/// A thread that stores the rows it is sent, as many as there are in one transaction, and then answers.
fn group_commit(path: &Path, rows: mpsc::Receiver<Row>) {
    let ledger = Ledger::create(path, "FULL");
    while let Ok(first) = rows.recv() {
        ledger.begin();
        let stored: Vec<_> = [first]
            .into_iter()
            .chain(rows.try_iter())
            .map(|row| (row.tell, ledger.store(row.thread, row.head, &row.body)))
            .collect();
        ledger.end();
        for (tell, head) in stored {
            tell.send(head).expect("its task waits");
        }
    }
}

/// The same sleeps, rows and heads by hand, in milliseconds.
async fn by_hand(path: PathBuf, bytes: usize) -> f64 {
    let (rows, received) = mpsc::channel();
    let writer = thread::spawn(move || group_commit(&path, received));
    let begun = Instant::now();
    let tasks = (0..THREADS).map(|thread| {
        let rows = rows.clone();
        tokio::spawn(async move {
            let mut head = None;
            // The input and the start are checkpoints, too.
            for step in 0..STEPS + 2 {
                if step >= 2 {
                    tokio::time::sleep(WORK).await;
                }
                let (tell, told) = oneshot::channel();
                let body = "x".repeat(bytes);
                rows.send(Row { thread, head, body, tell }).expect("the writer lives");
                head = Some(told.await.expect("it is durable"));
            }
        })
    });
    join_all(tasks).await.into_iter().for_each(|task| task.expect("no task panics"));
    let taken = begun.elapsed().as_secs_f64() * 1_000.0;
    drop(rows);
    writer.join().expect("the writer ends");
    taken
}

/// W8: 1,000 threads of 20 steps, each durable, against a group commit of the same rows by hand.
pub(crate) fn many() -> Figure {
    on_worker(async {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let mut extra = Map::new();
        for _ in 0..ROUNDS {
            let folder = TempDir::new().expect("a folder for the files");
            let path = folder.path().join("threads.db");
            values.push(driven(&path).await);
            let bytes = row_bytes(&path) / (u64::from(THREADS) * (STEPS + 2));
            extra.insert("bytes_per_row".into(), bytes.into());
            baselines.push(by_hand(folder.path().join("hand.db"), bytes as usize).await);
            extra.insert("sync_us".into(), round(sync_us(folder.path())).into());
        }
        let target = "a group commit of the same rows and heads by hand, ≤ 2";
        Figure { unit: "ms", values, baselines, extra, target }
    })
}
