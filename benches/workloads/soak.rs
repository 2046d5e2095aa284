//! A long-running program, whose memory, open files and file size must not grow with the number of supersteps.
//!
//! It takes long, so it only runs if it is named. `SUPERSTEP_SOAK_STEPS` sets the number of supersteps;
//! `SUPERSTEP_SOAK_HOURS` sets a duration instead.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Map;
use superstep::checkpoint::maintenance::{self, Retention};
use superstep::checkpoint::{Durability, SqliteSaver};
use superstep::prelude::*;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::engine::on_worker;
use crate::fresh;
use crate::report::{Figure, median, round};

/// The number of supersteps, unless the environment sets another.
const STEPS: u64 = 1_000_000;
/// The supersteps of a run, after which the program is measured.
const RUN: u64 = 1_000;
/// The number of runs between two prunings.
const RUNS: u64 = 10;
/// The number of checkpoints that pruning keeps.
const KEPT: usize = 1_000;
/// The number of topics; the latest value of each is kept.
const TOPICS: u64 = 50;

const PATIENCE: Duration = Duration::from_secs(60);

/// A counter, and a map whose entries are overwritten repeatedly, which makes an endless chain of operations.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Soak {
    count: u64,
    #[reducer(Merge)]
    latest: BTreeMap<String, String>,
}

fn graph() -> Graph<Soak> {
    let mut g = StateGraph::<Soak>::new("soak");
    let work = g.node("work", async |soak: Snapshot<Soak>| {
        let count = soak.count + 1;
        let entry = (format!("topic {}", count % TOPICS), format!("said at step {count}"));
        Soak::update().count(count).latest([entry])
    });
    g.edge(START, work);
    g.edge(work, work);
    g.edge(work, END);
    g.compile().expect("a loop is a sound graph").recursion_limit(RUN)
}

/// The measurements after a run.
#[derive(Clone, Copy)]
struct Sample {
    step_us: f64,
    resident_kib: f64,
    descriptors: f64,
    file: f64,
    log: f64,
}

/// The condition that ends the benchmark.
enum Until {
    Steps(u64),
    Time(Duration),
}

impl Until {
    fn of_environment() -> Self {
        let number = |name| {
            let value = std::env::var(name).ok()?;
            Some(value.parse::<f64>().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
        };
        match (number("SUPERSTEP_SOAK_HOURS"), number("SUPERSTEP_SOAK_STEPS")) {
            (Some(hours), _) => Self::Time(Duration::from_secs_f64(hours * 3600.0)),
            (None, steps) => Self::Steps(steps.map_or(STEPS, |steps| steps as u64)),
        }
    }

    fn is_reached(&self, steps: u64, begun: Instant) -> bool {
        match self {
            Self::Steps(all) => steps >= *all,
            Self::Time(all) => begun.elapsed() >= *all,
        }
    }
}

/// Returns the resident memory of this process in KiB, and the number of its open files.
fn held() -> (f64, f64) {
    let descriptors = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    (fresh::kib("VmRSS"), descriptors as f64)
}

fn bytes(path: &Path) -> f64 {
    std::fs::metadata(path).map_or(0.0, |is| is.len() as f64)
}

/// Prunes and collects garbage while the run continues. Returns the number of pruned checkpoints.
fn prune(path: &Path) -> u64 {
    let retention = Retention::new().keep_last(KEPT);
    let pruned = maintenance::prune(path, &retention, PATIENCE).expect("the file can be pruned");
    maintenance::collect(path, PATIENCE).expect("the file can be collected");
    pruned.checkpoints
}

/// W10: a million supersteps with retention, against the first tenth of them.
pub(crate) fn soak() -> Figure {
    on_worker(async {
        let folder = TempDir::new().expect("a folder for the file");
        let path = folder.path().join("soak.db");
        let log = folder.path().join("soak.db-wal");
        let saver = SqliteSaver::options().durability(Durability::Process).open(&path).await;
        let graph = graph().checkpointer(saver.expect("a new file opens"));
        let thread = graph.thread("soak");
        let (until, begun) = (Until::of_environment(), Instant::now());
        let mut samples = Vec::new();
        let (mut steps, mut pruned) = (0, 0);
        let mut pruning: Option<JoinHandle<u64>> = None;
        while !until.is_reached(steps, begun) {
            let from = Instant::now();
            let run = thread.run(Soak::update()).await.expect("the loop runs");
            steps += RUN;
            assert_eq!(run.state.count, steps, "every step counted");
            let step_us = from.elapsed().as_secs_f64() * 1_000_000.0 / RUN as f64;
            let (resident_kib, descriptors) = held();
            samples.push(Sample { step_us, resident_kib, descriptors, file: bytes(&path), log: bytes(&log) });
            if (samples.len() as u64).is_multiple_of(RUNS) {
                if let Some(before) = pruning.take() {
                    pruned += before.await.expect("a pruning ends");
                }
                let path = path.clone();
                pruning = Some(tokio::task::spawn_blocking(move || prune(&path)));
            }
        }
        if let Some(last) = pruning {
            pruned += last.await.expect("a pruning ends");
        }
        drop(graph);
        assert!(maintenance::verify(&path).expect("the file opens").is_sound(), "the file is sound");
        figure(&samples, steps, pruned)
    })
}

fn figure(samples: &[Sample], steps: u64, pruned: u64) -> Figure {
    let tenth = (samples.len() / 10).max(1);
    let of = |part: usize, what: fn(&Sample) -> f64| -> Vec<f64> {
        samples.iter().skip(part * tenth).take(tenth).map(what).collect()
    };
    let most = |what: fn(&Sample) -> f64| samples.iter().map(what).fold(0.0, f64::max);
    let last = samples.len() / tenth - 1;
    let growth = |what: fn(&Sample) -> f64| round(median(&of(last, what)) / median(&of(1.min(last), what)));
    let resident = |one: &Sample| one.resident_kib;
    let file = |one: &Sample| one.file;
    let mut extra = Map::new();
    extra.insert("steps".into(), steps.into());
    extra.insert("pruned".into(), pruned.into());
    extra.insert("rss_kib".into(), median(&of(last, resident)).into());
    extra.insert("rss_last_over_second".into(), growth(resident).into());
    extra.insert("file_bytes".into(), most(file).into());
    extra.insert("file_last_over_second".into(), growth(file).into());
    extra.insert("wal_bytes".into(), most(|one| one.log).into());
    extra.insert("fds_first".into(), median(&of(0, |one| one.descriptors)).into());
    extra.insert("fds_last".into(), median(&of(last, |one| one.descriptors)).into());
    let target =
        "the first tenth, ≤ 1.05; rss and file of the last tenth over the second ≤ 1.05; WAL ≤ 64 MB";
    Figure {
        unit: "µs/step",
        values: of(last, |one| one.step_us),
        baselines: of(0, |one| one.step_us),
        extra,
        target,
    }
}
