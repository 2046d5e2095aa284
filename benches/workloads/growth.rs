//! Benchmarks of a step in growing graphs, states and levels of subgraphs. Its cost should stay the same.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Map;
use superstep::checkpoint::{Durability, SqliteSaver};
use superstep::prelude::*;
use tempfile::TempDir;

use crate::engine::{Counter, ROUNDS, STEPS, cycle_graph, on_worker, timed_cycle};
use crate::report::{Figure, median, round};
use crate::storage::{file_bytes, raw_inserts};

/// The number of steps in a round of the chains, whatever their length.
const CHAIN_STEPS: u64 = 5_000;

async fn bump(counter: Snapshot<Counter>) -> Update<Counter> {
    Counter::update().count(counter.count + 1)
}

/// Builds a chain of `nodes` nodes.
fn chain_graph(nodes: u64) -> Graph<Counter> {
    let mut g = StateGraph::<Counter>::new("chain");
    let mut last = g.node("node 0", bump);
    g.edge(START, last);
    for number in 1..nodes {
        let next = g.node(format!("node {number}"), bump);
        g.edge(last, next);
        last = next;
    }
    g.edge(last, END);
    g.compile().expect("a chain is a sound graph").recursion_limit(nodes)
}

/// Returns the time of a step in microseconds, and the number of bytes that it adds to the file.
async fn timed_chain(nodes: u64, folder: &Path) -> (f64, f64) {
    let path = folder.join(format!("chain{nodes}.db"));
    let saver = SqliteSaver::options().durability(Durability::Process).open(&path).await;
    let graph = chain_graph(nodes).checkpointer(saver.expect("a new file opens"));
    let thread = graph.thread("chain");
    // The first run also stores the description of the graph.
    let warm = thread.run(Counter::update()).await.expect("the chain runs");
    let before = pages(&path);
    let begun = Instant::now();
    let mut last = warm;
    for _ in 0..CHAIN_STEPS / nodes {
        last = thread.run(Counter::update()).await.expect("the chain runs");
    }
    let taken = begun.elapsed();
    assert_eq!(last.state.count, nodes + CHAIN_STEPS / nodes * nodes, "every step counted");
    let steps = CHAIN_STEPS as f64;
    (taken.as_nanos() as f64 / 1_000.0 / steps, (pages(&path) - before) as f64 / steps)
}

/// Returns the size of the database in bytes, including its log.
fn pages(path: &Path) -> u64 {
    let file = rusqlite::Connection::open(path).expect("the file opens");
    let query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
    let size: i64 = file.query_row(query, [], |row| row.get(0)).expect("a sound query");
    u64::try_from(size).expect("sizes are not negative")
}

/// W9: chains of 1,000 nodes, against chains of 10.
pub(crate) fn chain() -> Figure {
    on_worker(async {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let (mut long_bytes, mut short_bytes) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            let folder = TempDir::new().expect("a folder for the files");
            let (short, bytes) = timed_chain(10, folder.path()).await;
            baselines.push(short);
            short_bytes.push(bytes);
            let (long, bytes) = timed_chain(1_000, folder.path()).await;
            values.push(long);
            long_bytes.push(bytes);
        }
        let mut extra = Map::new();
        extra.insert("bytes_per_step_at_10".into(), round(median(&short_bytes)).into());
        extra.insert("bytes_per_step_at_1000".into(), round(median(&long_bytes)).into());
        Figure { unit: "µs/step", values, baselines, extra, target: "the same with 10 nodes, ≤ 1.3" }
    })
}

/// Passes the names of 99 fields to a macro.
macro_rules! with_fields {
    ($states:ident) => {
        $states! {
            f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20 f21 f22 f23 f24 f25
            f26 f27 f28 f29 f30 f31 f32 f33 f34 f35 f36 f37 f38 f39 f40 f41 f42 f43 f44 f45 f46 f47 f48 f49 f50
            f51 f52 f53 f54 f55 f56 f57 f58 f59 f60 f61 f62 f63 f64 f65 f66 f67 f68 f69 f70 f71 f72 f73 f74 f75
            f76 f77 f78 f79 f80 f81 f82 f83 f84 f85 f86 f87 f88 f89 f90 f91 f92 f93 f94 f95 f96 f97 f98 f99
        }
    };
}

macro_rules! wide_state {
    ($($field:ident)*) => {
        #[derive(State, Clone, Default, Serialize, Deserialize)]
        struct Wide {
            count: u64,
            $($field: u64,)*
        }

        impl Wide {
            fn sum(&self) -> u64 {
                self.count $(+ self.$field)*
            }
        }
    };
}

with_fields!(wide_state);

macro_rules! large_state {
    ($($field:ident)*) => {
        #[derive(State, Clone, Default, Serialize, Deserialize)]
        struct Large {
            step: String,
            $($field: String,)*
        }

        impl Large {
            /// Returns an update that fills all fields except the one that changes.
            fn filled() -> Update<Self> {
                Self::update()$(.$field(kibibyte(stringify!($field))))*
            }
        }
    };
}

with_fields!(large_state);

async fn bump_wide(wide: Snapshot<Wide>) -> Update<Wide> {
    Wide::update().count(wide.count + 1)
}

fn wide_graph() -> Graph<Wide> {
    let mut g = StateGraph::<Wide>::new("wide");
    let ping = g.node("ping", bump_wide);
    let pong = g.node("pong", bump_wide);
    g.edge(START, ping);
    g.edge(ping, pong);
    g.edge(pong, ping);
    g.edge(pong, END);
    g.compile().expect("the cycle is a sound graph").recursion_limit(STEPS)
}

/// W9f: the cycle of W2 over a state of 100 fields, one of them changed per step, against a state of one field.
pub(crate) fn fields() -> Figure {
    on_worker(async {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            baselines.push(timed_cycle(&cycle_graph(STEPS).checkpointer(MemorySaver::new())).await);
            let graph = wide_graph().checkpointer(MemorySaver::new());
            let begun = Instant::now();
            let run = graph.thread("cycle").run(Wide::update()).await.expect("the cycle runs");
            values.push(begun.elapsed().as_nanos() as f64 / STEPS as f64);
            assert_eq!(run.state.sum(), STEPS, "every superstep counted");
        }
        let target = "the same with 1 field, ≤ 1.3";
        Figure { unit: "ns/step", values, baselines, extra: Map::new(), target }
    })
}

/// The number of runs of the subgraphs in a round.
const NESTED_RUNS: u64 = 2_000;

/// Builds a node inside `levels` levels of subgraphs.
fn levels_graph(levels: u32) -> Graph<Counter> {
    let mut g = StateGraph::<Counter>::new(format!("level {levels}"));
    let node = match levels {
        0 => g.node("node", bump),
        _ => {
            let lens = Lens::new().give(Counter::COUNT, Counter::COUNT).take(Counter::COUNT, Counter::COUNT);
            g.subgraph("below", levels_graph(levels - 1), lens)
        }
    };
    g.edge(START, node);
    g.edge(node, END);
    g.compile().expect("a graph of one node is sound")
}

/// Returns the time per level in nanoseconds.
async fn timed_levels(levels: u32) -> f64 {
    let graph = levels_graph(levels);
    let begun = Instant::now();
    for _ in 0..NESTED_RUNS {
        let run = graph.run(Counter::update()).await.expect("the levels run");
        assert_eq!(run.state.count, 1, "the lowest level counted");
    }
    begun.elapsed().as_nanos() as f64 / NESTED_RUNS as f64 / f64::from(levels + 1)
}

/// W9s: five levels of subgraphs, time per level, against one level.
pub(crate) fn levels() -> Figure {
    on_worker(async {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            baselines.push(timed_levels(1).await);
            values.push(timed_levels(5).await);
        }
        let target = "the same with one level, ≤ 1.3";
        Figure { unit: "ns/level", values, baselines, extra: Map::new(), target }
    })
}

/// The number of steps of the run of W6.
const LARGE_STEPS: u64 = 1_000;

/// Returns 1 KiB of text that is unique to `of`.
fn kibibyte(of: &str) -> String {
    format!("{of} ").chars().cycle().take(1_024).collect()
}

/// Writes the number of the step, as a long text.
async fn change(large: Snapshot<Large>) -> Update<Large> {
    let step: u64 = large.step.split(' ').next().and_then(|step| step.parse().ok()).unwrap_or_default();
    Large::update().step(kibibyte(&(step + 1).to_string()))
}

/// W6: 100 fields of 1 KiB, one of them changed per step, against a raw insert of 1 KiB.
pub(crate) fn replaced() -> Figure {
    on_worker(async {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let mut extra = Map::new();
        for _ in 0..5 {
            let folder = TempDir::new().expect("a folder for the files");
            let path = folder.path().join("large.db");
            let saver = SqliteSaver::options().durability(Durability::Process).open(&path).await;
            let mut g = StateGraph::<Large>::new("large");
            let change = g.node("change", change);
            g.edge(START, change);
            g.edge(change, change);
            g.edge(change, END);
            let graph = g.compile().expect("a loop is a sound graph").recursion_limit(LARGE_STEPS);
            let graph = graph.checkpointer(saver.expect("a new file opens"));
            let begun = Instant::now();
            let run = graph.thread("large").run(Large::filled()).await.expect("the loop runs");
            values.push(begun.elapsed().as_secs_f64() * 1_000_000.0 / LARGE_STEPS as f64);
            assert!(run.state.step.starts_with(&format!("{LARGE_STEPS} ")), "every step counted");
            drop(graph);
            extra.insert("file_bytes".into(), file_bytes(&path).into());
            baselines.push(raw_inserts(&folder.path().join("raw.db"), "NORMAL", 1_024, LARGE_STEPS));
        }
        let target = "a raw insert of the changed bytes, WAL NORMAL, ≤ 3; file ≤ 2.5 MB";
        Figure { unit: "µs/step", values, baselines, extra, target }
    })
}
