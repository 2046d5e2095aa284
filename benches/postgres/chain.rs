//! Supersteps one after the other, on this machine and over a slow network, and on many threads at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::Map;
use superstep::run::Graph;

use crate::cluster::Cluster;
use crate::database::{Counter, block_on, bytes_per_step, connect, cycle, ms_since, saver};
use crate::proxy::Proxy;
use crate::raw::Raw;
use crate::report::{Figure, median, round};

const ROUNDS: usize = 5;
const STEPS: u64 = 1_000;
const FAR_STEPS: u64 = 100;
const THREADS: i32 = 64;
const STEPS_OF_MANY: u64 = 60;

/// The round trip over a slow network.
pub(crate) const DELAY: Duration = Duration::from_millis(10);

/// Runs a thread, and returns the time of a superstep in milliseconds. The input and its start count as one.
async fn timed(graph: &Graph<Counter>, thread: String, steps: u64) -> f64 {
    let begun = Instant::now();
    let run = graph.thread(thread).run(Counter::default()).await.expect("the loop runs");
    assert_eq!(run.state.count, steps);
    ms_since(begun) / steps as f64
}

/// D2: a chain of 1,000 supersteps.
pub(crate) fn chain(cluster: Arc<Cluster>) -> Figure {
    let url = cluster.url("superstep");
    let mut figure = block_on(async move { compared(&url, "chain", STEPS).await });
    figure.target = "one raw statement of the same bytes, ≤ 1.5";
    figure
}

/// D3: a chain over a network whose round trip takes 10 ms.
pub(crate) fn far_away(cluster: Arc<Cluster>) -> Figure {
    let proxy = Proxy::with_delay(cluster.folder(), DELAY);
    let mut figure = block_on(async move { compared(&proxy.url(), "far_away", FAR_STEPS).await });
    figure.target = "one raw statement over the same 10 ms; ≤ 11.5 ms";
    figure
}

async fn compared(url: &str, schema: &str, steps: u64) -> Figure {
    let graph = cycle(steps).checkpointer(saver(url, schema, 16).await);
    timed(&graph, "warm".into(), steps).await;
    let client = connect(url).await;
    let bytes = bytes_per_step(&client, schema, steps + 2).await;
    let (mut values, mut baselines, mut unprepared) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut raw = Raw::open(url, 1, bytes).await.pop().expect("one connection");
        baselines.push(raw.steps(steps).await / steps as f64);
        unprepared.push(raw.unprepared_steps(steps).await / steps as f64);
        values.push(timed(&graph, format!("thread {round}"), steps).await);
    }
    let mut extra = Map::new();
    extra.insert("bytes_per_step".into(), bytes.into());
    extra.insert("unprepared_raw_ms".into(), round(median(&unprepared)).into());
    Figure { unit: "ms/step", values, baselines, extra, target: "" }
}

/// D5: 64 threads of 60 supersteps each in one process, in supersteps a second.
pub(crate) fn many(cluster: Arc<Cluster>) -> Figure {
    let url = cluster.url("superstep");
    block_on(async move {
        let all = THREADS as f64 * STEPS_OF_MANY as f64;
        let graph = cycle(STEPS_OF_MANY).checkpointer(saver(&url, "many", THREADS as usize).await);
        let fewer = cycle(STEPS_OF_MANY).checkpointer(saver(&url, "many_on_16", 16).await);
        side_by_side(&graph, "warm").await;
        side_by_side(&fewer, "warm").await;
        let client = connect(&url).await;
        let rows = THREADS as u64 * (STEPS_OF_MANY + 2);
        let bytes = bytes_per_step(&client, "many", rows).await;
        let (mut values, mut baselines, mut on_16) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let raw = Raw::open(&url, THREADS, bytes).await;
            baselines.push(all / Raw::all(raw, STEPS_OF_MANY).await * 1e3);
            values.push(all / side_by_side(&graph, &format!("{round}")).await * 1e3);
            on_16.push(all / side_by_side(&fewer, &format!("{round}")).await * 1e3);
        }
        let mut extra = Map::new();
        extra.insert("on_16_connections".into(), round(median(&on_16)).into());
        extra.insert("bytes_per_step".into(), bytes.into());
        let target = "the raw statement on 64 connections, ≥ 0.6; ≥ 5,000 a second";
        Figure { unit: "steps/s", values, baselines, extra, target }
    })
}

/// Runs all threads at once, and returns their time in milliseconds.
async fn side_by_side(graph: &Graph<Counter>, name: &str) -> f64 {
    let begun = Instant::now();
    let runs = (0..THREADS).map(|number| {
        let thread = graph.thread(format!("{name} {number}"));
        tokio::spawn(async move { thread.run(Counter::default()).await.expect("the loop runs").state.count })
    });
    for count in join_all(runs).await {
        assert_eq!(count.expect("no run panics"), STEPS_OF_MANY);
    }
    ms_since(begun)
}
