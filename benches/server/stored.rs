//! Requests on a file with much in it.

use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::iter;
use serde_json::{Map, Value, json};
use superstep::checkpoint::{Checkpointer, Durability, SqliteSaver};
use superstep::driver::records::{Multitask, RunClaim, RunRow, RunStatus, ThreadRow, ThreadStatus};
use superstep::driver::state::Json;

use crate::client::{Client, ms_since, percentile};
use crate::reference::Reference;
use crate::report::{Figure, median, round};
use crate::runs::{folder, uuid};
use crate::served::{Chat, Served, block_on, chat, message, now_us};

const ROUNDS: usize = 5;
const CHECKPOINTS: usize = 100;
const MESSAGES: usize = 2_000;
const THREADS: usize = 100_000;
const RUNS: usize = 1_000;
const SEARCHES: usize = 300;

/// S7: `POST history` of 100 checkpoints of a thread with 2,000 messages.
pub(crate) fn history(_: Option<&Reference>) -> Figure {
    block_on(async {
        let folder = folder();
        let path = folder.path().join("history.db");
        let saver = SqliteSaver::options().durability(Durability::Process).open(&path).await;
        let graph = chat().checkpointer(saver.expect("a new file opens"));
        let thread = graph.thread("long");
        // A run has a checkpoint for its input and one for its node, at least.
        let runs = CHECKPOINTS / 2 + 1;
        let of_input = MESSAGES / runs - 1;
        for run in 0..runs {
            let messages: Vec<_> = (0..of_input).map(|number| message(run * MESSAGES + number)).collect();
            let run = thread.run(Chat::update().messages(messages)).await.expect("the run succeeds");
            assert!(run.state.messages.len() > of_input, "it has its messages");
        }
        drop(graph);
        let served = Served::start(&path);
        let mut client = Client::connect(served.address).await;
        let (mut values, mut baselines, mut bytes, mut count) = (Vec::new(), Vec::new(), 0, 0);
        for _ in 0..=ROUNDS {
            let begun = Instant::now();
            let body = client.post("/threads/long/history", &json!({ "limit": CHECKPOINTS })).await;
            values.push(ms_since(begun));
            let begun = Instant::now();
            let states: Value = serde_json::from_slice(&body).expect("JSON");
            baselines.push(ms_since(begun));
            count = states.as_array().map_or(0, Vec::len);
            bytes = body.len();
        }
        let mut extra = Map::new();
        extra.insert("response_mb".into(), round(bytes as f64 / 1e6).into());
        extra.insert("states".into(), count.into());
        Figure { unit: "ms", values, baselines, extra, target: "parsing the response; ≤ 50 ms" }
    })
}

/// Makes a file with many threads, and runs whose server was killed.
async fn file(path: &Path) {
    let saver = SqliteSaver::options().durability(Durability::Process).open(path).await;
    let saver = saver.expect("a new file opens");
    let rows = saver.records().expect("the saver has rows");
    let now = now_us() / 1_000;
    let thread = |number: usize| {
        let metadata = json!({ "user": format!("user {}", number % 10_000), "kind": number % 7 });
        ThreadRow {
            id: format!("thread-{number}").into(),
            graph: Some("three".into()),
            metadata: metadata.as_object().expect("an object").clone(),
            status: ThreadStatus::Idle,
            config: Json::encode(&json!({})).expect("JSON"),
            error: None,
            created_ms: now + number as u64,
            updated_ms: now + number as u64,
            state_updated_ms: now,
            expiry: None,
        }
    };
    let insert = |number| {
        let (rows, row) = (rows.clone(), thread(number));
        async move { rows.insert_thread(row).await.expect("it is stored") }
    };
    iter(0..THREADS).map(insert).buffer_unordered(256).for_each(|_| async {}).await;
    let kwargs = Json::encode(&json!({ "input": { "count": 1 } })).expect("JSON");
    for number in 0..RUNS {
        let run = RunRow {
            id: uuid(),
            thread: format!("thread-{number}").into(),
            assistant: "three".into(),
            graph: "three".into(),
            status: RunStatus::Pending,
            kwargs: kwargs.clone(),
            metadata: Map::new(),
            multitask: Multitask::Enqueue,
            created_ms: now,
            updated_ms: now,
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
        let claim =
            RunClaim { owner: "killed".into(), graphs: vec!["three".into()], left: Vec::new(), until_ms: 1 };
        let claimed = rows.claim_run(&claim, now).await.expect("the queue is read");
        assert!(claimed.is_some(), "the run is claimed");
    }
}

/// S8: `threads/search` by metadata over 100,000 threads.
pub(crate) fn search(_: Option<&Reference>) -> Figure {
    block_on(async {
        let folder = folder();
        let path = folder.path().join("threads.db");
        file(&path).await;
        let served = Served::start(&path);
        let mut client = Client::connect(served.address).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let (mut values, mut baselines, mut p50) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let mut times = Vec::new();
            for number in 0..SEARCHES {
                let user = format!("user {}", (number * 31 + round * 977) % 10_000);
                let begun = Instant::now();
                client.post("/threads/search", &json!({ "metadata": { "user": user } })).await;
                times.push(ms_since(begun));
            }
            values.push(percentile(&times, 99.0));
            p50.push(percentile(&times, 50.0));
            let mut times = Vec::new();
            for number in 0..SEARCHES {
                let begun = Instant::now();
                client.get(&format!("/threads/thread-{number}")).await;
                times.push(ms_since(begun));
            }
            baselines.push(percentile(&times, 99.0));
        }
        let mut common = Vec::new();
        for _ in 0..20 {
            let begun = Instant::now();
            client.post("/threads/search", &json!({ "metadata": { "kind": 3 } })).await;
            common.push(ms_since(begun));
        }
        let mut extra = Map::new();
        extra.insert("p50_ms".into(), round(median(&p50)).into());
        extra.insert("of_a_seventh_ms".into(), round(median(&common)).into());
        Figure { unit: "ms, p99", values, baselines, extra, target: "reading one thread; ≤ 20 ms" }
    })
}

/// S10: a start with 100,000 threads and 1,000 runs of a killed server.
pub(crate) fn start(_: Option<&Reference>) -> Figure {
    block_on(async {
        let (mut values, mut baselines, mut ended) = (Vec::new(), Vec::new(), Vec::new());
        let folder = folder();
        let made = folder.path().join("made.db");
        file(&made).await;
        for round in 0..ROUNDS {
            let empty = folder.path().join(format!("empty {round}.db"));
            baselines.push(Served::start(&empty).start_ms);
            let path = folder.path().join(format!("threads {round}.db"));
            std::fs::copy(&made, &path).expect("the disk has room");
            let begun = Instant::now();
            let served = Served::start(&path);
            values.push(served.start_ms);
            let mut client = Client::connect(served.address).await;
            loop {
                let metrics = String::from_utf8(client.get("/metrics").await).expect("text");
                let waiting = ["superstep_runs_pending 0", "superstep_runs_running 0"];
                if waiting.iter().all(|line| metrics.lines().any(|other| other == *line)) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            ended.push(ms_since(begun));
            drop(served);
            std::fs::remove_file(&path).expect("it exists");
        }
        let extra = Map::from_iter([("all_ended_ms".to_owned(), round(median(&ended)).into())]);
        let target = "a start with an empty file; ≤ 300 ms; all claimed ≤ 5,000 ms";
        Figure { unit: "ms", values, baselines, extra, target }
    })
}
