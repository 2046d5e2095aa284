//! The benchmarks of several processes: servers that share a Postgres database, and processes that Restate calls.
//!
//! ```text
//! cargo bench --bench several_machines --features postgres,restate,server,unstable-driver -- [IDS] [--json]
//! ```
//!
//! The processes are this program, started once more. Restate's server is that of `target/restate`, where `.ci/run restate`
//! installs it; without it M2 to M4 are skipped.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../../graph-restate/tests/restate/balancer.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod balancer;
#[path = "../../graph-restate/tests/restate/client.rs"]
#[expect(dead_code, reason = "tests of the endpoint use more of it")]
mod client;
#[path = "../../graph-checkpoint/tests/it/postgres/cluster.rs"]
#[expect(dead_code, reason = "tests of the saver use more of it")]
mod cluster;
mod fan;
mod graphs;
mod process;
#[path = "../workloads/report.rs"]
mod report;
mod runs;
#[path = "../../graph-restate/tests/restate/server.rs"]
#[expect(dead_code, reason = "tests of the endpoint use more of it")]
mod server;
mod slices;

use cluster::Cluster;
use report::{Figure, Output};
use server::Server;

/// The servers that the workloads use.
pub(crate) struct Place {
    cluster: std::sync::Arc<Cluster>,
    restate: Option<Server>,
}

/// The settings of Restate. With several partitions, calls are sent in no order, so that processes get unequal numbers.
const SETTINGS: [(&str, &str); 1] = [("RESTATE_DEFAULT_NUM_PARTITIONS", "1")];

/// A workload: its id, and the function that runs it.
type Workload = (&'static str, fn(&Place) -> Figure);

const WORKLOADS: &[Workload] = &[
    ("M1", runs::servers),
    ("M2", fan::spread),
    ("M3", slices::overhead),
    ("M4", slices::resumed),
    ("M5", runs::killed),
    ("M6", runs::drained),
];

/// The workloads that need a server of Restate.
const ON_RESTATE: [&str; 3] = ["M2", "M3", "M4"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == process::WORD) {
        return process::run(&arguments[1..]);
    }
    let output = if arguments.iter().any(|word| word == "--json") { Output::Json } else { Output::Table };
    let ids: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let is_wanted = |id: &str| ids.is_empty() || ids.iter().any(|wanted| *wanted == id);
    let Some(cluster) = Cluster::own() else {
        return report::skipped(output, "M", "there is no Postgres in /usr/lib/postgresql");
    };
    let place = Place { cluster, restate: process::block_on(Server::start_with(&SETTINGS)) };
    report::head(output);
    for (id, run) in WORKLOADS.iter().filter(|(id, _)| is_wanted(id)) {
        if place.restate.is_none() && ON_RESTATE.contains(id) {
            report::skipped(
                output,
                id,
                "there is no server of Restate in target/restate: run .ci/run restate",
            );
            continue;
        }
        report::line(output, id, &run(&place));
    }
}
