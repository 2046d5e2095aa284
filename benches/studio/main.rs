//! The benchmarks of the studio: the layout of graphs, and the API of `superstep studio` on a long thread.
//!
//! ```text
//! cargo bench --bench studio --features studio -- [IDS] [--json]
//! ```
//!
//! The studio is the binary `superstep`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod layout;
mod long;
#[path = "../workloads/report.rs"]
mod report;
mod shown;
#[path = "../workloads/walk.rs"]
mod walk;

use report::{Figure, Output};

/// A workload: its id, and the function that runs it.
type Workload = (&'static str, fn() -> Figure);

const WORKLOADS: &[Workload] = &[
    ("P1", layout::layout),
    ("P2", long::first_rows),
    ("P3", long::key_press),
    ("P4", long::event),
    ("P5", long::writer),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let output = if arguments.iter().any(|word| word == "--json") { Output::Json } else { Output::Table };
    let ids: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let is_wanted = |id: &str| ids.is_empty() || ids.iter().any(|wanted| *wanted == id);
    report::head(output);
    for (id, run) in WORKLOADS.iter().filter(|(id, _)| is_wanted(id)) {
        report::line(output, id, &run());
    }
    report::skipped(output, "page", "a browser measures it: npm run browser -- large, in studio/page");
}

/// Returns the milliseconds since a time.
fn ms_since(begun: std::time::Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

/// Returns the sample that 95 of 100 do not exceed.
fn p95(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() * 95 / 100).min(sorted.len() - 1)]
}
