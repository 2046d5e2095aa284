extern crate superstep_core as superstep;

use std::error::Error;

use superstep::graph::StateGraph;
use superstep::node::Snapshot;
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

async fn write(essay: Snapshot<Essay>) -> Result<Update<Essay>, Box<dyn Error>> {
    Ok(Essay::update().topic(essay.topic.as_str()))
}

fn main() {
    let mut g = StateGraph::<Essay>::new("essay");
    g.node("write", write);
}
