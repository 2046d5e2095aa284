extern crate superstep_core as superstep;

use superstep::node::{Snapshot, node};
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[derive(State, Clone, Default)]
struct Chat {
    messages: Vec<String>,
}

#[node]
async fn plan(essay: Snapshot<Essay>) -> Update<Chat> {
    Chat::update().messages([essay.topic.clone()])
}

fn main() {}
