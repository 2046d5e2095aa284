//! Answers when a museum can be visited, and is wrong: `docs/debugging.md` finds the cause and fixes it.
//!
//! ```text
//! cargo run --bin opening_hours                     # asks, and keeps the run in museum.db
//! cargo run --bin opening_hours -- debug log visit  # or another verb of the debugger: debug --help
//! cargo run --bin opening_hours -- serve            # for clients of LangGraph's API: serve --help
//! cargo run --bin opening_hours -- --mended         # with the evaluator that has the bug no more
//! ```

mod graph;

use std::error::Error;
use std::process::ExitCode;

use superstep::prelude::*;
use superstep_examples::{ended, print, usage};

use crate::graph::{Reply, replies};

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mended = arguments.first().is_some_and(|argument| argument == "--mended");
    if mended {
        arguments.remove(0);
    }
    let command = arguments.first().map(String::as_str);
    if !matches!(command, None | Some("debug" | "serve")) {
        return usage(&arguments, "opening_hours [--mended] [debug VERB .. | serve [OPTION ..]]");
    }
    let graph = replies(mended).compile()?.checkpointer(SqliteSaver::open("museum.db").await?);
    match command {
        Some("debug") => return Ok(superstep::debugger(&[&graph]).run(&arguments[1..]).await),
        Some("serve") => return Ok(superstep::serve(&[&graph]).run(&arguments[1..]).await),
        _ => {}
    }
    let asked = Reply::update().question("When can I visit the museum?");
    let reply = graph.thread("visit").run(asked).await?.finished()?;
    print(reply.answer)?;
    Ok(ExitCode::SUCCESS)
}
