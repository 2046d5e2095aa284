//! Fan-out and join: words are counted in parallel, one task per file, while a second branch adds up the sizes of the
//! files; a join waits for both. Each field's reducer merges parallel writes into one value.
//!
//! ```text
//! cargo run --bin reducers -- README.md Cargo.toml
//! cargo run --bin reducers -- debug threads
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;
use superstep_examples::{ended, print, repository, usage};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Census {
    files: Vec<String>,
    /// The entries of parallel tasks are merged into one map.
    #[reducer(Merge)]
    words: BTreeMap<String, usize>,
    #[reducer(Union)]
    kinds: BTreeSet<String>,
    #[reducer(Sum)]
    bytes: u64,
    #[reducer(Max)]
    longest_line: usize,
    /// Without a reducer, a field has one writer a superstep: two would be an error that names both nodes.
    report: String,
}

/// One task per file, each with the file's name as its input.
#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Count(Vec<String>),
}

async fn plan(census: Snapshot<Census>) -> Plan {
    Plan::Count(census.files.clone())
}

/// Reading a file is an effect: it is recorded, and a replay gets the recorded text.
async fn count(file: Input<String>, fx: Effects) -> Result<Update<Census>, std::io::Error> {
    let text = fx.run_keyed("read", &*file, || tokio::fs::read_to_string(&*file)).await?;
    let longest = text.lines().map(str::len).max().unwrap_or(0);
    Ok(Census::update().words([(file.as_str(), text.split_whitespace().count())]).longest_line(longest))
}

async fn weigh(census: Snapshot<Census>, fx: Effects) -> Result<Update<Census>, std::io::Error> {
    let mut update = Census::update();
    for file in &census.files {
        let kind = file.rsplit_once('.').map_or("none", |(_, kind)| kind);
        let bytes = fx.run_keyed("weigh", file, || size(file)).await?;
        update = update.bytes(bytes).kinds([kind]);
    }
    Ok(update)
}

async fn size(file: &str) -> Result<u64, std::io::Error> {
    Ok(tokio::fs::metadata(file).await?.len())
}

async fn report(census: Snapshot<Census>) -> Update<Census> {
    let Census { words, kinds, bytes, longest_line, .. } = &*census;
    Census::update().report(format!(
        "{words:?}\n{bytes} bytes in files of kind {kinds:?}; the longest line has {longest_line} bytes"
    ))
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    if files.first().is_some_and(|first| first.starts_with('-')) {
        return usage(&files, "reducers [FILE .. | debug VERB .. | serve [OPTION ..]]");
    }
    let mut g = StateGraph::<Census>::new("census");
    let plan = g.node("plan", plan);
    let count = g.node("count", count);
    let weigh = g.node("weigh", weigh);
    let report = g.node("report", report);
    g.edge(START, plan);
    g.edge(START, weigh);
    g.route(plan, move |Plan::Count(files)| each(count, files));
    g.join((count, weigh), report);
    g.edge(report, END);
    let db = std::env::temp_dir().join("superstep-reducers.db");
    let census = g.compile()?.checkpointer(SqliteSaver::open(&db).await?);
    if let Some(exit) = superstep::debugger(&[&census]).subcommand("debug").await {
        return Ok(exit);
    }
    if let Some(exit) = superstep::serve(&[&census]).subcommand("serve").await {
        return Ok(exit);
    }
    print(census.mermaid())?;

    if files.is_empty() {
        // This repository's files, wherever the program is started.
        std::env::set_current_dir(repository())?;
        files = vec!["Cargo.toml".into(), "src/lib.rs".into()];
    }
    print(census.run(Census::update().files(files)).await?.finished()?.report)?;
    Ok(ExitCode::SUCCESS)
}
