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

async fn write(essay: Snapshot<Essay>) -> Essay {
    Essay::clone(&essay)
}

async fn update() -> Update<Essay> {
    let _ = Plan::Write;
    Essay::update()
}

fn main() {
    let mut g = StateGraph::<Essay>::new("essay");
    g.node("update", update);
    g.node("write", write);
}
