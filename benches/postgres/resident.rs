//! Memory of a program that uses many threads, or takes many supersteps. Each runs in a process of its own.

use std::process::Command;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::iter;
use serde_json::{Map, Value, json};

use crate::cluster::Cluster;
use crate::database::{Counter, block_on, cycle, saver};
use crate::report::{Figure, median, round};

/// The first argument of such a process.
pub(crate) const WORD: &str = "--resident";

/// The threads that a process uses before it is measured.
const FIRST: u64 = 2_000;
const THREADS: u64 = 10_000;

/// The number of supersteps, unless the environment sets another.
const STEPS: u64 = 20_000;
/// The supersteps of a run, after which the process is measured.
const RUN: u64 = 1_000;

/// D7: the bytes that a process keeps for each thread that it has run.
pub(crate) fn threads(cluster: Arc<Cluster>) -> Figure {
    let figures = measure("threads", &cluster);
    let number = |name: &str| figures[name].as_f64().expect("a number");
    let extra = Map::from_iter([("resident_mb".to_owned(), round(number("after_kib") / 1e3).into())]);
    let grown = (number("after_kib") - number("before_kib")) * 1024.0 / THREADS as f64;
    let target = "10,000 threads of three supersteps; ≤ 4,096 bytes";
    Figure { unit: "bytes", values: vec![grown], baselines: vec![f64::NAN], extra, target }
}

/// D8: the resident memory at the end of many supersteps, against that after the first tenth.
pub(crate) fn supersteps(cluster: Arc<Cluster>) -> Figure {
    let figures = measure("supersteps", &cluster);
    let samples: Vec<f64> = serde_json::from_value(figures["kib"].clone()).expect("numbers");
    let tenth = (samples.len() / 10).max(1);
    let of = |from: usize| samples.iter().skip(from).take(tenth).map(|kib| kib / 1e3).collect::<Vec<f64>>();
    let steps = samples.len() as u64 * RUN;
    let extra = Map::from_iter([("steps".to_owned(), steps.into())]);
    let (values, baselines) = (of(samples.len() - tenth), of(tenth.min(samples.len() - tenth)));
    let baselines = vec![median(&baselines); values.len()];
    Figure { unit: "MB", values, baselines, extra, target: "the second tenth, ≤ 1.05" }
}

/// Starts this program once more, and returns its figures.
fn measure(task: &str, cluster: &Cluster) -> Value {
    let program = std::env::current_exe().expect("a program has a path");
    let output = Command::new(program).args([WORD, task]).arg(cluster.url("superstep")).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it prints its figures")
}

/// Measures a task in the process that was started for it, and prints its figures.
pub(crate) fn run(task: &str, url: &str) {
    let (task, url) = (task.to_owned(), url.to_owned());
    let figures = block_on(async move {
        match task.as_str() {
            "threads" => many_threads(&url).await,
            _ => many_supersteps(&url).await,
        }
    });
    println!("{figures}");
}

async fn many_threads(url: &str) -> Value {
    let graph = cycle(3).checkpointer(saver(url, "threads", 16).await);
    let run = async |from: u64, count: u64| {
        let runs = (from..from + count).map(|number| {
            let thread = graph.thread(format!("a thread with the number {number}"));
            async move { thread.run(Counter::default()).await.expect("the loop runs") }
        });
        iter(runs).buffer_unordered(16).for_each(|run| async move { assert_eq!(run.state.count, 3) }).await;
    };
    run(0, FIRST).await;
    let before = resident_kib();
    run(FIRST, THREADS).await;
    json!({ "before_kib": before, "after_kib": resident_kib() })
}

async fn many_supersteps(url: &str) -> Value {
    let steps = std::env::var("SUPERSTEP_SOAK_STEPS").ok();
    let steps = steps.map_or(STEPS, |steps| steps.parse().expect("SUPERSTEP_SOAK_STEPS is a number"));
    let graph = cycle(RUN).checkpointer(saver(url, "supersteps", 16).await);
    let mut samples = Vec::new();
    for run in 1..=steps.div_ceil(RUN) {
        let ended = graph.thread("soak").run(Counter::update()).await.expect("the loop runs");
        assert_eq!(ended.state.count, run * RUN);
        samples.push(resident_kib());
    }
    json!({ "kib": samples })
}

/// Returns the resident memory of this process in KiB.
fn resident_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    value.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(f64::NAN)
}
