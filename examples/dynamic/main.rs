//! A graph from data: a file describes nodes, edges and state, over functions that are registered by name.
//!
//! ```text
//! cargo run --features toml --bin dynamic                                  # runs examples/dynamic/graph.toml
//! cargo run --features toml --bin dynamic -- my.toml "buy bread" swim      # another description, other errands
//! cargo run --features toml --bin dynamic -- debug threads                 # what has been run
//! ```

use std::convert::Infallible;
use std::error::Error;
use std::process::ExitCode;

use serde_json::{Value, json};
use superstep::graph::{Description, Registry};
use superstep::node::JsonOutcome;
use superstep::prelude::*;
use superstep::state::{JsonError, JsonState};
use superstep_examples::{ended, print, usage};

async fn plan(state: Snapshot<JsonState>) -> Result<JsonOutcome, JsonError> {
    let errands: Vec<String> = state.read("errands")?;
    Ok(JsonOutcome::routed(if errands.is_empty() { "stay" } else { "go" }))
}

async fn errand(errand: Input<String>, fx: Effects) -> Result<Value, Infallible> {
    let distance = fx.run("walk", || async { Ok::<_, Infallible>(errand.len()) }).await?;
    Ok(json!({ "done": [*errand], "distance": distance }))
}

async fn look_back(state: Snapshot<JsonState>, task: TaskInfo) -> Value {
    let mood = if state["distance"].as_u64() > Some(20) { "tired" } else { "fresh" };
    json!({ "mood": mood, "done": [task.node().as_str()] })
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let description = match arguments.first().map(String::as_str) {
        None | Some("debug" | "serve") => Description::from_toml(include_str!("graph.toml"))?,
        Some(option) if option.starts_with('-') => {
            return usage(
                &arguments,
                "dynamic [DESCRIPTION.toml [ERRAND ..] | debug VERB .. | serve [OPTION ..]]",
            );
        }
        Some(path) => {
            let text = std::fs::read_to_string(path);
            Description::from_toml(&text.map_err(|error| format!("{path} cannot be read: {error}"))?)?
        }
    };
    let registry = Registry::new().node("plan", plan).node("errand", errand).node("look_back", look_back);
    let db = std::env::temp_dir().join("superstep-dynamic.db");
    let graph = registry.build(&description).compile()?.checkpointer(SqliteSaver::open(&db).await?);
    if let Some(exit) = superstep::debugger(&[&graph]).subcommand("debug").await {
        return Ok(exit);
    }
    if let Some(exit) = superstep::serve(&[&graph]).subcommand("serve").await {
        return Ok(exit);
    }

    let mut errands: Vec<String> = arguments.into_iter().skip(1).collect();
    if errands.is_empty() {
        errands = ["buy bread", "swim"].map(String::from).into();
    }
    print(graph.mermaid())?;
    let done = graph.run(graph.update(&json!({ "errands": errands }))?).await?.finished()?;
    print(format_args!("{:#}", done.to_json()))?;
    Ok(ExitCode::SUCCESS)
}
