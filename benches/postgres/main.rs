//! The benchmarks of the Postgres saver, on a server that they start, against raw statements in the same run.
//!
//! ```text
//! cargo bench --bench postgres --features postgres,unstable-driver -- [IDS] [--json]
//! ```
//!
//! `SUPERSTEP_SOAK_STEPS` sets the number of supersteps of D8.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod chain;
#[path = "../../graph-checkpoint/tests/it/postgres/cluster.rs"]
#[expect(dead_code, reason = "tests of the saver use more of it")]
mod cluster;
mod database;
mod messages;
#[path = "../../graph-checkpoint/tests/it/postgres/proxy.rs"]
#[expect(dead_code, reason = "tests of the saver use more of it")]
mod proxy;
mod raw;
#[path = "../workloads/report.rs"]
mod report;
mod resident;
mod waits;

use std::sync::Arc;

use cluster::Cluster;
use report::{Figure, Output};

/// A workload: its id, and the function that runs it.
type Workload = (&'static str, fn(Arc<Cluster>) -> Figure);

const WORKLOADS: &[Workload] = &[
    ("D1", waits::superstep),
    ("D2", chain::chain),
    ("D3", chain::far_away),
    ("D4", waits::new_run),
    ("D5", chain::many),
    ("D6", messages::messages),
    ("D7", resident::threads),
    ("D8", resident::supersteps),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, task, url] = &arguments[..]
        && word == resident::WORD
    {
        return resident::run(task, url);
    }
    let output = if arguments.iter().any(|word| word == "--json") { Output::Json } else { Output::Table };
    let ids: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let is_wanted = |id: &str| ids.is_empty() || ids.iter().any(|wanted| *wanted == id);
    let Some(cluster) = Cluster::own() else {
        return report::skipped(output, "D", "there is no Postgres in /usr/lib/postgresql");
    };
    if output == Output::Table {
        println!("{}", database::settings(Arc::clone(&cluster)));
    }
    report::head(output);
    for (id, run) in WORKLOADS.iter().filter(|(id, _)| is_wanted(id)) {
        report::line(output, id, &run(Arc::clone(&cluster)));
    }
}
