extern crate superstep_core as superstep;

use superstep::node::{Dep, FromRef, Snapshot, node};
use superstep::state::{State, Update};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

#[derive(Clone)]
struct Llm;

#[derive(Clone)]
struct Web;

#[derive(FromRef, Clone)]
struct Deps {
    llm: Llm,
}

#[node(context = Deps)]
async fn plan(essay: Snapshot<Essay>, llm: Dep<Llm>, web: Dep<Web>) -> Update<Essay> {
    let _ = (llm, web);
    Essay::update().topic(essay.topic.clone())
}

fn main() {}
