extern crate superstep_core as superstep;

use superstep::node::{Snapshot, node};
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[node]
async fn plan(essay: Snapshot<Essay>, text: impl ToString) -> Update<Essay> {
    Essay::update().topic(text.to_string() + &essay.topic)
}

fn main() {}
