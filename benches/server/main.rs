//! The benchmarks of the server, against the Python reference, and against runs without HTTP in the same process.
//!
//! ```text
//! cargo bench --bench server -- [IDS] [--json]
//! ```
//!
//! The server is this program, started once more, so that its memory can be measured. The reference is
//! `langgraph dev` (the package `langgraph-cli[inmem]`), found in the `PATH` or named by the variable `LANGGRAPH`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod client;
#[cfg(feature = "postgres")]
#[expect(dead_code, reason = "the tests of the Postgres saver use the rest")]
#[path = "../../graph-checkpoint/tests/it/postgres/cluster.rs"]
mod cluster;
mod crowd;
#[cfg(feature = "postgres")]
mod database;
mod reference;
#[path = "../workloads/report.rs"]
mod report;
mod runs;
mod served;
mod stored;
mod streams;

use reference::Reference;
use report::{Figure, Output};

/// A workload: its id, and the function that runs it with the reference, if that is installed.
type Workload = (&'static str, fn(Option<&Reference>) -> Figure);

const WORKLOADS: &[Workload] = &[
    ("S1", runs::idle),
    ("S2", runs::one_client),
    ("S3", runs::many_clients),
    ("S4", streams::first_event),
    ("S5", streams::chunks),
    ("S6", crowd::idle_streams),
    ("S7", stored::history),
    ("S8", stored::search),
    ("S9", crowd::hostile),
    ("S10", stored::start),
    #[cfg(feature = "postgres")]
    ("S11", database::begin),
    #[cfg(feature = "postgres")]
    ("S12", database::chunk),
    #[cfg(feature = "postgres")]
    ("S13", database::writers),
    #[cfg(feature = "postgres")]
    ("S14", database::idle),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, path] = &arguments[..]
        && word == served::WORD
    {
        return served::serve(path.as_ref());
    }
    let output = if arguments.iter().any(|word| word == "--json") { Output::Json } else { Output::Table };
    let ids: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let is_wanted = |id: &str| ids.is_empty() || ids.iter().any(|wanted| *wanted == id);
    let reference = served::block_on(Reference::start());
    report::head(output);
    if reference.is_none() {
        let reason = "not installed, or it does not start; the figures are without it";
        report::skipped(output, "reference", reason);
    }
    for (id, run) in WORKLOADS.iter().filter(|(id, _)| is_wanted(id)) {
        report::line(output, id, &run(reference.as_ref()));
    }
}
