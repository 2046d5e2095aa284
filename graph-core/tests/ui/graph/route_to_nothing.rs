extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::graph::{StateGraph};
use superstep::node::{Snapshot};
use superstep::route::Route;
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Research(Vec<String>),
    Write,
}

async fn plan(essay: Snapshot<Essay>) -> Plan {
    match essay.topic.is_empty() {
        true => Plan::Write,
        false => Plan::Research(vec![essay.topic.clone()]),
    }
}

async fn write(essay: Snapshot<Essay>) -> Update<Essay> {
    Essay::update().topic(essay.topic.as_str())
}

fn main() {
    let mut g = StateGraph::<Essay>::new("essay");
    let plan = g.node("plan", plan);
    let _ = g.node("write", write);
    g.route(plan, |next| match next {
        Plan::Research(_) => "research",
        Plan::Write => "write",
    });
}
