extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::graph::{StateGraph};
use superstep::node::{Dep, FromRef};
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

#[derive(Clone)]
struct Llm;

#[derive(Clone)]
struct Web;

#[derive(FromRef, Clone)]
struct Deps {
    llm: Llm,
}

async fn research(web: Dep<Web>) -> Update<Essay> {
    let _ = (web, Plan::Write);
    Essay::update()
}

fn main() {
    let mut g = StateGraph::<Essay, Deps>::new("essay");
    g.node("research", research);
}
