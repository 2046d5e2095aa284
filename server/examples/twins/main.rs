//! Serves four small graphs, with which clients and the studio can be tried out.
//!
//! ```text
//! cargo run -p superstep-server --example twins -- --port 2024
//! cargo run -p superstep-server --example twins -- --file twins.db --port 2024
//! cargo run -p superstep-server --features studio --example twins -- --file twins.db --studio
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use superstep_checkpoint::SqliteSaver;
use superstep_core::checkpoint::{Checkpointer, MemorySaver};
use superstep_core::store::{MemoryStore, Store};

mod graphs;
mod report;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = arguments.iter().position(|argument| argument == "--file").map(|at| {
        arguments.remove(at);
        if at < arguments.len() { arguments.remove(at) } else { "twins.db".to_owned() }
    });
    let saver: Arc<dyn Checkpointer> = match file {
        Some(file) => Arc::new(SqliteSaver::open(&file).await?),
        None => Arc::new(MemorySaver::new()),
    };
    let store = Store::from(MemoryStore::new());
    let agent = graphs::agent(saver.clone(), store.clone())?;
    let fanout = graphs::fanout(saver.clone(), store.clone())?;
    let tooly = graphs::tooly(saver.clone(), store.clone())?;
    let report = report::graph(saver, store)?;
    let server = superstep_server::serve(&[&agent, &fanout, &tooly, &report]);
    #[cfg(feature = "webhooks")]
    let server = server.allow_webhook_host("localhost");
    Ok(server.run(arguments).await)
}
