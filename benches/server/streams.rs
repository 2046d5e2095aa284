//! Streams of runs.

use std::net::SocketAddr;
use std::time::Instant;

use futures_util::future::join_all;
use serde_json::{Map, json};

use crate::client::{Client, ms_since, percentile, thread};
use crate::reference::Reference;
use crate::report::{Figure, median, round};
use crate::runs::{folder, run, uuid};
use crate::served::{CHUNKS, Served, block_on, now_us};

const ROUNDS: usize = 5;
const RUNS: usize = 200;
const REFERENCE_RUNS: usize = 5;
const STREAMS: usize = 100;

/// Returns the times until the first event of streams, in milliseconds.
async fn firsts(address: SocketAddr, runs: usize) -> Vec<f64> {
    let mut client = Client::connect(address).await;
    let id = uuid();
    thread(&mut client, &id).await;
    let mut times = Vec::new();
    for _ in 0..runs {
        let begun = Instant::now();
        let (status, _) =
            client.begin("POST", &format!("/threads/{id}/runs/stream"), &run().to_string()).await;
        assert_eq!(status, 200, "the run starts");
        let first = client.part().await.expect("an event");
        assert!(first.starts_with(b"event: "), "{}", String::from_utf8_lossy(&first));
        times.push(ms_since(begun));
        while client.part().await.is_some() {}
    }
    times
}

/// S4: the first event of `runs/stream`.
pub(crate) fn first_event(reference: Option<&Reference>) -> Figure {
    let reference = reference.map(|reference| reference.address);
    block_on(async move {
        let (mut values, mut baselines, mut p50) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let folder = folder();
            let served = Served::start(&folder.path().join("served.db"));
            firsts(served.address, 10).await;
            let times = firsts(served.address, RUNS).await;
            values.push(percentile(&times, 99.0));
            p50.push(percentile(&times, 50.0));
            baselines.push(match reference {
                Some(address) => percentile(&firsts(address, REFERENCE_RUNS).await, 50.0),
                None => f64::NAN,
            });
        }
        let extra = Map::from_iter([("p50_ms".to_owned(), round(median(&p50)).into())]);
        let target = "the reference's p50; p99 ≤ 10 ms";
        Figure { unit: "ms, p99", values, baselines, extra, target }
    })
}

/// Returns the times from the emission of chunks to their arrival, in milliseconds.
async fn delays(address: SocketAddr) -> Vec<f64> {
    let mut client = Client::connect(address).await;
    let body = json!({ "assistant_id": "chunks", "input": {}, "stream_mode": "custom" });
    let (status, _) = client.begin("POST", "/runs/stream", &body.to_string()).await;
    assert_eq!(status, 200, "the run starts");
    let mut delays = Vec::new();
    let mut text = String::new();
    while let Some(part) = client.part().await {
        text.push_str(&String::from_utf8_lossy(&part));
        let now = now_us();
        while let Some((event, rest)) = text.split_once("\n\n") {
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(at) =
                data.filter(|_| event.starts_with("event: custom")).and_then(|at| at.parse::<u64>().ok())
            {
                delays.push(now.saturating_sub(at) as f64 / 1e3);
            }
            text = rest.to_owned();
        }
    }
    assert_eq!(delays.len() as u64, CHUNKS, "every chunk arrives");
    delays
}

/// S5: from the emission of a chunk to its arrival, of 100 streams of 50 chunks a second.
pub(crate) fn chunks(_: Option<&Reference>) -> Figure {
    block_on(async {
        let (mut values, mut baselines, mut p50) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let folder = folder();
            let served = Served::start(&folder.path().join("served.db"));
            baselines.push(percentile(&delays(served.address).await, 99.0));
            let all = (0..STREAMS).map(|_| tokio::spawn(delays(served.address)));
            let all: Vec<f64> =
                join_all(all).await.into_iter().flat_map(|all| all.expect("no client panics")).collect();
            values.push(percentile(&all, 99.0));
            p50.push(percentile(&all, 50.0));
        }
        let extra = Map::from_iter([("p50_ms".to_owned(), round(median(&p50)).into())]);
        Figure { unit: "ms, p99", values, baselines, extra, target: "one stream; ≤ 20 ms" }
    })
}
