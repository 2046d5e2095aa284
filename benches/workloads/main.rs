//! The benchmarks of the project. Each result is a ratio to a baseline that is measured in the same run.
//!
//! ```text
//! cargo bench --bench workloads -- [IDS] [--json]
//! ```
//!
//! Every workload runs in rounds. A round measures the baseline and the workload in turn, so that other programs on
//! the machine affect both. The figures are medians over the rounds.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod agent;
#[cfg(feature = "assistant")]
mod agents;
#[cfg(feature = "assistant")]
mod answers;
mod asleep;
mod compaction;
#[cfg(all(feature = "assistant", feature = "tools"))]
mod decisions;
mod effects;
mod engine;
mod floor;
mod fresh;
mod growth;
#[cfg(feature = "cli")]
mod inspection;
mod messages;
mod report;
#[cfg(feature = "encryption")]
mod sealed;
#[cfg(feature = "assistant")]
mod sessions;
#[cfg(feature = "assistant")]
mod snapshots;
mod soak;
#[cfg(all(feature = "assistant", unix))]
mod start;
mod storage;
mod threads;
mod turns;
mod walk;

use std::path::Path;

use report::{Figure, Output};

/// A workload: its id, and the function that runs it.
type Workload = (&'static str, fn() -> Figure);

const WORKLOADS: &[Workload] = &[
    ("W1", engine::by_edge),
    ("W1r", engine::by_route),
    ("W1b", engine::by_branch),
    ("W2", engine::cycle_in_memory),
    ("W3", storage::cycle_process),
    ("W3p", storage::cycle_power),
    ("W4", messages::by_edge),
    ("W4r", messages::by_route),
    ("W4b", messages::by_branch),
    ("W4t", turns::reopened),
    ("W5", engine::fan_out),
    ("W5s", engine::fan_out_stored),
    ("W6", growth::replaced),
    ("W7", messages::read_back),
    ("W8", threads::many),
    ("W9", growth::chain),
    ("W9f", growth::fields),
    ("W9s", growth::levels),
    ("W10", soak::soak),
    #[cfg(feature = "cli")]
    ("W11", inspection::verbs),
    #[cfg(feature = "encryption")]
    ("W12", sealed::encrypted),
    ("W13", agent::streaming),
    ("W14", agent::search),
    ("W15", compaction::compaction),
    ("W16", turns::long),
    #[cfg(feature = "assistant")]
    ("W16a", sessions::turn_of_assistant),
    ("W17", effects::process),
    ("W17p", effects::power),
    #[cfg(all(feature = "assistant", feature = "tools"))]
    ("W17d", decisions::decisions),
    #[cfg(feature = "assistant")]
    ("W18", sessions::old_session),
    #[cfg(feature = "assistant")]
    ("W18l", sessions::list),
    #[cfg(all(feature = "assistant", feature = "tools-shell", unix))]
    ("W18m", sessions::long_result),
    #[cfg(feature = "assistant")]
    ("W19", snapshots::snapshots),
    #[cfg(feature = "assistant")]
    ("W20", compaction::passes),
    #[cfg(feature = "assistant")]
    ("W21", agents::readers),
    #[cfg(feature = "assistant")]
    ("W22", answers::stored_question),
    #[cfg(all(feature = "assistant", unix))]
    ("W23", start::prompt),
    ("W24", asleep::asleep),
];

/// The workloads that only run if they are named.
const LONG: &[&str] = &["W10"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, task, path] = &arguments[..]
        && word == fresh::WORD
    {
        return fresh::run(task, Path::new(path));
    }
    let (output, ids) = chosen(arguments);
    let unknown: Vec<_> = ids.iter().filter(|id| WORKLOADS.iter().all(|(known, _)| known != id)).collect();
    if !unknown.is_empty() {
        let known: Vec<_> = WORKLOADS.iter().map(|(id, _)| *id).collect();
        println!("no workload {unknown:?}; there are {known:?}");
        std::process::exit(2);
    }
    report::head(output);
    for (id, run) in WORKLOADS {
        let is_wanted =
            if ids.is_empty() { !LONG.contains(id) } else { ids.iter().any(|wanted| wanted == id) };
        let missing = if is_wanted { missing(id) } else { None };
        if let Some(missing) = missing {
            report::skipped(output, id, missing);
        } else if is_wanted {
            report::line(output, id, &run());
        }
    }
}

/// The reason for which a workload cannot run here.
fn missing(id: &str) -> Option<&'static str> {
    match id {
        #[cfg(all(feature = "assistant", unix))]
        "W23" => start::missing(),
        _ => None,
    }
}

fn chosen(arguments: Vec<String>) -> (Output, Vec<String>) {
    let mut output = Output::Table;
    let mut ids = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--json" => output = Output::Json,
            // Cargo passes this to state the kind of target.
            "--bench" => {}
            _ => ids.push(argument),
        }
    }
    (output, ids)
}
