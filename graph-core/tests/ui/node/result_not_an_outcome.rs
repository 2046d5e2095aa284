extern crate superstep_core as superstep;

use superstep::node::{Snapshot, node};
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[node]
async fn plan(essay: Snapshot<Essay>) -> Result<String, std::io::Error> {
    Ok(essay.topic.clone())
}

#[node]
async fn write(essay: Snapshot<Essay>) -> Essay {
    Essay::clone(&essay)
}

fn main() {}
