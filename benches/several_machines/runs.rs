//! Server processes that share the runs of a database.

use std::time::{Duration, Instant};

use serde_json::Map;
use superstep::checkpoint::{Checkpointer, PostgresSaver};
use superstep::driver::records::{Multitask, RunRow, RunStatus, ThreadRow, ThreadStatus};
use superstep::driver::state::Json;

use crate::Place;
use crate::process::{Process, block_on, ms_since};
use crate::report::{Figure, median, round};

const ROUNDS: usize = 3;
const RUNS: usize = 400;
/// The runs that a process drives at the same time. So the sleep of the node limits it, and not its processor.
const WORKERS: usize = 2;

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
    let empty = || Json::encode(&serde_json::json!({})).expect("JSON");
    for number in 0..RUNS * servers {
        let id = format!("thread-{number}");
        let thread = ThreadRow {
            id: id.as_str().into(),
            graph: Some("sleeper".into()),
            metadata: Map::new(),
            status: ThreadStatus::Idle,
            config: empty(),
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
            assistant: "sleeper".into(),
            graph: "sleeper".into(),
            status: RunStatus::Pending,
            kwargs: Json::encode(&serde_json::json!({ "input": {} })).expect("JSON"),
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
    let (client, connection) =
        tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("the server takes it");
    tokio::spawn(connection);
    let ended =
        format!("SELECT count(*) FROM {schema}.server_run WHERE status NOT IN ('pending', 'running')");
    let ended = client.prepare(&ended).await.expect("a sound query");
    let of_schema = format!("{url} schema={schema}");
    let _servers: Vec<_> = (0..servers).map(|_| Process::server(&of_schema, WORKERS)).collect();
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
