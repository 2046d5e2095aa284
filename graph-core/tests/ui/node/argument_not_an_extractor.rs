extern crate superstep_core as superstep;

use superstep::node::{Snapshot, node};
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[node]
async fn plan(essay: Snapshot<Essay>, draft: String) -> Update<Essay> {
    Essay::update().topic(draft + &essay.topic)
}

fn main() {}
