//! The examples as programs: with arguments, output, interrupts, kills and the debugger.

mod agent_loop;
mod agentic;
mod analyst;
mod callback;
#[cfg(unix)]
#[expect(dead_code, reason = "the tests of the Postgres saver use the rest")]
#[path = "../../../graph-checkpoint/tests/it/postgres/cluster.rs"]
mod cluster;
mod course;
mod critic;
mod debugger;
mod kill;
mod mcp_server;
mod metrics_page;
mod network_model;
#[cfg(target_os = "linux")]
mod no_network;
mod photo_critic;
#[cfg(unix)]
mod serve;
mod tutor;

use std::path::Path;

use tempfile::TempDir;

/// Returns the program of an example.
fn example(name: &str) -> &'static Path {
    macro_rules! programs {
        ($($name:literal)+) => {
            match name {
                $($name => Path::new(env!(concat!("CARGO_BIN_EXE_", $name))),)+
                _ => panic!("there is no example {name}"),
            }
        };
    }
    programs!(
        "agent_loop" "agentic" "analyst" "dynamic" "flow" "hello" "mcp_server" "opening_hours" "photo_critic" "reducers" "review"
        "time_travel" "tutor"
    )
}

/// Makes a folder that has a folder `docs` with two documents.
fn documents() -> TempDir {
    let folder = TempDir::new().expect("a folder for the documents");
    let docs = folder.path().join("docs");
    std::fs::create_dir(&docs).expect("a new folder");
    let write = |name: &str, text: &str| std::fs::write(docs.join(name), text).expect("a new file");
    write("forks.md", "# Forks\n\nA fork copies no bytes: it shares its past with the trunk.\n");
    write("storage.md", "# Storage\n\nA checkpoint holds what changed in its superstep.\n");
    folder
}
