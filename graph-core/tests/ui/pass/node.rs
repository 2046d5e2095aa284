extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::error::NodeError;
use superstep::node::{Ask, Dep, Effects, Emit, FromRef, Input, Snapshot, TaskInfo, node};
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

#[derive(FromRef, Clone)]
struct Deps {
    llm: Llm,
}

#[node]
async fn nothing() {}

#[node]
async fn plan(essay: Snapshot<Essay>, llm: Dep<Llm>, fx: Effects) -> Result<Plan, std::io::Error> {
    let _ = (essay, llm, fx);
    Ok(Plan::Write)
}

#[node(context = Deps)]
async fn research(mut web: Dep<Llm>, Dep(all): Dep<Deps>, query: Input<String>) -> Result<Update<Essay>, NodeError> {
    web.0 = all.llm;
    let _ = web;
    Ok(Essay::update().topic(query.as_str()))
}

#[node(state = Essay, context = Deps)]
async fn write(info: TaskInfo, emit: Emit) -> (EssayUpdate, Plan) {
    let _ = (info, emit);
    (Essay::update(), Plan::Research(Vec::new()))
}

#[node]
async fn review(essay: Snapshot<Essay>, editor: Ask<String, bool>) {
    let _ = (essay, editor);
}

/// A node for every state.
#[node]
pub async fn forget<S>(state: Snapshot<S>) -> Update<S>
where
    S: State,
{
    let _ = state;
    Update::<S>::default()
}

fn main() {}
