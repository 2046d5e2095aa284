//! Benchmarks of the engine without a store, and with a store in memory.

use std::hint::black_box;
use std::pin::Pin;
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use superstep::prelude::*;

use crate::report::{Figure, median, round};

/// The supersteps of one run of the cycle.
pub(crate) const STEPS: u64 = 10_000;
/// The number of rounds. The figures are medians over them.
pub(crate) const ROUNDS: usize = 9;

/// The state of the cycle: one counter.
#[derive(State, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Counter {
    pub(crate) count: u64,
}

async fn bump(counter: Snapshot<Counter>) -> Update<Counter> {
    Counter::update().count(counter.count + 1)
}

/// Builds the cycle: two nodes that lead to each other, until the recursion limit.
pub(crate) fn cycle_graph(steps: u64) -> Graph<Counter> {
    let mut g = StateGraph::<Counter>::new("cycle");
    let ping = g.node("ping", bump);
    let pong = g.node("pong", bump);
    g.edge(START, ping);
    g.edge(ping, pong);
    g.edge(pong, ping);
    g.edge(pong, END);
    g.compile().expect("the cycle is a sound graph").recursion_limit(steps)
}

/// Runs `work` on a worker of a runtime with two workers.
pub(crate) fn on_worker<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    runtime.block_on(async move { tokio::spawn(work).await.expect("a workload does not panic") })
}

/// Returns the time per step, in nanoseconds.
pub(crate) async fn timed_cycle(graph: &Graph<Counter>) -> f64 {
    let begun = Instant::now();
    let run = graph.thread("cycle").run(Counter::update()).await.expect("the cycle runs");
    let taken = begun.elapsed();
    assert_eq!(run.state.count, STEPS, "every superstep counted");
    taken.as_nanos() as f64 / STEPS as f64
}

async fn boxed_future() -> f64 {
    const TIMES: u64 = 200_000;
    let begun = Instant::now();
    let mut count = 0;
    for _ in 0..TIMES {
        let next: Pin<Box<dyn Future<Output = u64> + Send>> = Box::pin(async move { count + 1 });
        count = black_box(next).await;
    }
    black_box(count);
    begun.elapsed().as_nanos() as f64 / TIMES as f64
}

async fn spawn_and_join() -> f64 {
    const TIMES: u64 = 20_000;
    let begun = Instant::now();
    for _ in 0..TIMES {
        tokio::spawn(async {}).await.expect("an empty task ends");
    }
    begun.elapsed().as_nanos() as f64 / TIMES as f64
}

/// W1: the cycle without a checkpointer, against a raw boxed future and a raw spawn and join.
pub(crate) fn cycle() -> Figure {
    on_worker(async {
        let (mut values, mut baselines, mut spawns) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            baselines.push(boxed_future().await);
            spawns.push(spawn_and_join().await);
            values.push(timed_cycle(&cycle_graph(STEPS)).await);
        }
        let mut extra = Map::new();
        extra.insert("spawn_join_ns".into(), round(median(&spawns)).into());
        let to_spawn: Vec<f64> = values.iter().zip(&spawns).map(|(value, spawn)| value / spawn).collect();
        extra.insert("ratio_to_spawn_join".into(), round(median(&to_spawn)).into());
        Figure {
            unit: "ns/step",
            values,
            baselines,
            extra,
            target: "raw boxed future, ≤ 35; spawn + join, ≤ 1.5",
        }
    })
}

/// W2: the cycle with the in-memory saver, against the cycle without.
pub(crate) fn cycle_in_memory() -> Figure {
    on_worker(async {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            baselines.push(timed_cycle(&cycle_graph(STEPS)).await);
            values.push(timed_cycle(&cycle_graph(STEPS).checkpointer(MemorySaver::new())).await);
        }
        Figure { unit: "ns/step", values, baselines, extra: Map::new(), target: "W1, ≤ 3" }
    })
}

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Fan {
    #[reducer(Append)]
    seen: Vec<u64>,
}

#[derive(Route, Serialize, Deserialize)]
enum Out {
    Each(Vec<u64>),
}

fn fan_graph(width: u64) -> Graph<Fan> {
    let mut g = StateGraph::<Fan>::new("fan");
    let source = g.node("source", move || async move { Out::Each((0..width).collect()) });
    let leaf = g.node("leaf", |item: Input<u64>| async move { Fan::update().seen([*item]) });
    g.edge(START, source);
    g.route(source, move |Out::Each(items)| each(leaf, items));
    g.edge(leaf, END);
    g.compile().expect("the fan is a sound graph")
}

/// Returns the time per task, in nanoseconds.
async fn timed_fan(width: u64) -> f64 {
    let graph = fan_graph(width);
    let begun = Instant::now();
    let run = graph.run(Fan::update()).await.expect("the fan runs");
    let taken = begun.elapsed();
    assert!(run.state.seen.iter().copied().eq(0..width), "items merge in their order");
    taken.as_nanos() as f64 / width as f64
}

async fn unordered_futures(width: u64) -> f64 {
    let begun = Instant::now();
    let mut futures: FuturesUnordered<_> = (0..width).map(|item| async move { item }).collect();
    while let Some(item) = futures.next().await {
        black_box(item);
    }
    begun.elapsed().as_nanos() as f64 / width as f64
}

/// W5: one node fans out to 1,000 and to 10,000 tasks whose writes are merged.
pub(crate) fn fan_out() -> Figure {
    on_worker(async {
        let (mut values, mut baselines, mut narrow) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            baselines.push(unordered_futures(10_000).await);
            narrow.push(timed_fan(1_000).await);
            values.push(timed_fan(10_000).await);
        }
        let mut extra = Map::new();
        extra.insert("ns_per_task_at_1000".into(), round(median(&narrow)).into());
        let growth: Vec<f64> = values.iter().zip(&narrow).map(|(wide, narrow)| wide / narrow).collect();
        extra.insert("at_10000_over_1000".into(), round(median(&growth)).into());
        Figure {
            unit: "ns/task",
            values,
            baselines,
            extra,
            target: "FuturesUnordered; ≤ 2,000 ns/task, growth ≤ 1.3",
        }
    })
}
