extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::graph::{END, StateGraph, each};
use superstep::node::{Input, Snapshot};
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

async fn research(query: Input<String>) -> Update<Essay> {
    Essay::update().topic(query.as_str())
}

fn main() {
    let mut g = StateGraph::<Essay>::new("essay");
    let plan = g.node("plan", plan);
    let research = g.node("research", research);
    g.route(plan, move |next| match next {
        Plan::Research(queries) => each(research, queries.len()..10),
        Plan::Write => END,
    });
}
