//! Server processes that share the runs of a database.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use superstep::checkpoint::{Checkpointer, PostgresSaver};
use superstep::driver::records::{Multitask, Records, RunRow, RunStatus, ThreadRow, ThreadStatus};
use superstep::driver::state::Json;

use crate::Place;
use crate::graphs::lines;
use crate::process::{Process, block_on, ms_since};
use crate::report::{Figure, median, round};

const ROUNDS: usize = 3;
const RUNS: usize = 400;
/// The runs that a process drives at the same time. So the sleep of the node limits it, and not its processor.
const WORKERS: usize = 2;
/// The kills of M5, and the stops of M6.
const ENDS: usize = 5;

/// M1: the runs a second of four server processes, against one.
pub(crate) fn servers(place: &Place) -> Figure {
    let url = place.cluster.url("superstep");
    block_on(async {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            baselines.push(runs_a_second(&url, 1, round).await);
            values.push(runs_a_second(&url, 4, round).await);
        }
        let best = WORKERS as f64 * 1e3 / 20.0;
        let extra = Map::from_iter([
            ("workers_a_process".to_owned(), WORKERS.into()),
            ("one_process_over_its_sleeps".to_owned(), round(median(&baselines) / best).into()),
        ]);
        Figure { unit: "runs/s", values, baselines, extra, target: "one process, ≥ 3.5" }
    })
}

/// Fills a queue, starts servers, and returns the rate at which the middle of the runs ends.
async fn runs_a_second(url: &str, servers: usize, round: usize) -> f64 {
    let schema = format!("runs_{servers}_{round}");
    let saver = PostgresSaver::options().schema(&schema).open(url).await.expect("it opens");
    let rows = saver.records().expect("it has rows");
    for number in 0..RUNS * servers {
        queue(&*rows, number, "sleeper", json!({})).await;
    }
    let (client, connection) =
        tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("the server takes it");
    tokio::spawn(connection);
    let ended =
        format!("SELECT count(*) FROM {schema}.server_run WHERE status NOT IN ('pending', 'running')");
    let ended = client.prepare(&ended).await.expect("a sound query");
    let of_schema = format!("{url} schema={schema}");
    let _servers: Vec<_> =
        (0..servers).map(|_| Process::server(&of_schema, Path::new("."), WORKERS)).collect();
    let all = (RUNS * servers) as i64;
    let reached = async |part: i64| {
        loop {
            let ended: i64 = client.query_one(&ended, &[]).await.expect("it runs").get(0);
            if ended >= part {
                return (ended, Instant::now());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (first, begun) = reached(all / 10).await;
    let (last, _) = reached(all * 9 / 10).await;
    (last - first) as f64 / ms_since(begun) * 1e3
}

/// Stores a run on a new thread.
async fn queue(rows: &dyn Records, number: usize, graph: &str, input: Value) {
    let encoded = |value: Value| Json::encode(&value).expect("JSON");
    let id = format!("thread-{number}");
    let thread = ThreadRow {
        id: id.as_str().into(),
        graph: Some(graph.into()),
        metadata: Map::new(),
        status: ThreadStatus::Idle,
        config: encoded(json!({})),
        error: None,
        created_ms: 1,
        updated_ms: 1,
        state_updated_ms: 1,
        expiry: None,
    };
    rows.insert_thread(thread).await.expect("it is stored");
    let run = RunRow {
        id: uuid::Uuid::now_v7().to_string(),
        thread: id.as_str().into(),
        assistant: graph.into(),
        graph: graph.into(),
        status: RunStatus::Pending,
        kwargs: encoded(json!({ "input": input })),
        metadata: Map::new(),
        multitask: Multitask::Enqueue,
        created_ms: number as u64,
        updated_ms: 1,
        not_before_ms: 0,
        owner: None,
        until_ms: 0,
        attempt: 0,
        lost: 0,
        cancel: None,
        error: None,
        calls: None,
    };
    rows.create_run(run).await.expect("it is stored");
}

/// M5: from the kill of a server process to the next effect of its run, in another process.
pub(crate) fn killed(place: &Place) -> Figure {
    let (values, extra) = block_on(taken_over(place, "KILL"));
    let baselines = vec![10_000.0; values.len()];
    Figure { unit: "ms", values, baselines, extra, target: "the lease of 10 s; ≤ 11,000 ms" }
}

/// M6: from SIGTERM to a server process to the next effect of its run, in another process.
pub(crate) fn drained(place: &Place) -> Figure {
    let (values, extra) = block_on(taken_over(place, "TERM"));
    let baselines = vec![20.0; values.len()];
    Figure { unit: "ms", values, baselines, extra, target: "a superstep of 20 ms; ≤ 100 ms" }
}

/// Sends a signal to server processes in the middle of a run, and returns the times until another one has the next effect.
async fn taken_over(place: &Place, signal: &str) -> (Vec<f64>, Map<String, Value>) {
    let url = place.cluster.url("superstep");
    let mut values = Vec::new();
    for number in 0..ENDS {
        let folder = tempfile::tempdir().expect("a folder");
        let schema = format!("{signal}_{number}");
        let saver = PostgresSaver::options().schema(&schema).open(&url).await.expect("it opens");
        let of_schema = format!("{url} schema={schema}");
        let first = Process::server(&of_schema, folder.path(), WORKERS);
        let rows = saver.records().expect("it has rows");
        queue(&*rows, number, "count", json!({ "to": 60, "ms": 20 })).await;
        let counted = async |at_least: usize| {
            while lines(folder.path(), "counted").len() < at_least {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        counted(10).await;
        // It is idle, as the first one has the run.
        let second = Process::server(&of_schema, folder.path(), WORKERS);
        counted(30).await;
        // At a sleep, so that no effect has an unknown outcome.
        tokio::time::sleep(Duration::from_millis(10)).await;
        let ended = Instant::now();
        first.signal(signal);
        let by = second.id().to_string();
        while lines(folder.path(), "counted_by").last() != Some(&by) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        values.push(ms_since(ended));
        counted(60).await;
        let all: Vec<String> = (1..=60).map(|count| count.to_string()).collect();
        assert_eq!(lines(folder.path(), "counted"), all, "no effect is repeated");
    }
    let most = round(values.iter().copied().fold(0.0, f64::max));
    (values, Map::from_iter([("most_ms".to_owned(), most.into())]))
}
