extern crate superstep_core as superstep;

use superstep::graph::{END, START, StateGraph};
use superstep::node::Snapshot;
use superstep::run::Lens;
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

struct Deps;

async fn write(essay: Snapshot<Essay>) -> Update<Essay> {
    Essay::update().topic(essay.topic.as_str())
}

fn main() {
    let mut inner = StateGraph::<Essay>::new("inner");
    let write = inner.node("write", write);
    inner.edge(START, write);
    inner.edge(write, END);
    let inner = inner.compile().unwrap();

    let mut g = StateGraph::<Essay, Deps>::new("essay");
    g.subgraph("inner", inner, Lens::new().share(Essay::TOPIC, Essay::TOPIC));
}
