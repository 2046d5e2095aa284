extern crate superstep_core as superstep;

use std::rc::Rc;

use superstep::node::{Snapshot, node};
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

async fn pause() {}

#[node]
async fn plan(essay: Snapshot<Essay>) -> Update<Essay> {
    let topic = Rc::new(essay.topic.clone());
    pause().await;
    Essay::update().topic(topic.as_str())
}

fn main() {}
