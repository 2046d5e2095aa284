extern crate superstep_core as superstep;

use superstep::graph::StateGraph;
use superstep::node::Snapshot;
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

struct Llm;

impl Llm {
    async fn write(&self, topic: &str) -> String {
        topic.to_owned()
    }
}

fn main() {
    let llm = Llm;
    let mut g = StateGraph::<Essay>::new("essay");
    g.node("write", move |essay: Snapshot<Essay>| async move {
        Essay::update().topic(llm.write(&essay.topic).await)
    });
    g.node("review", || async { Update::<Essay>::default() });
}
