extern crate superstep_core as superstep;

use superstep::node::{Snapshot, node};
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[node(stat = Essay)]
async fn plan(essay: Snapshot<Essay>) -> Update<Essay> {
    Essay::update().topic(essay.topic.clone())
}

fn main() {}
