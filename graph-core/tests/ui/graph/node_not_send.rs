extern crate superstep_core as superstep;

use std::rc::Rc;

use superstep::graph::StateGraph;
use superstep::node::Snapshot;
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

async fn pause() {}

async fn write(essay: Snapshot<Essay>) -> Update<Essay> {
    let topic = Rc::new(essay.topic.clone());
    pause().await;
    Essay::update().topic(topic.as_str())
}

fn main() {
    let mut g = StateGraph::<Essay>::new("essay");
    g.node("write", write);
}
