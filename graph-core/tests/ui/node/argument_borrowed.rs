extern crate superstep_core as superstep;

use superstep::node::node;
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[node]
async fn plan(essay: &Essay) -> Update<Essay> {
    Essay::update().topic(essay.topic.clone())
}

fn main() {}
