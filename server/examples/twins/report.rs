//! A graph that asks for a report, whose schema has a field of each kind.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep_core::checkpoint::Checkpointer;
use superstep_core::graph::{BuildError, END, START, StateGraph};
use superstep_core::node::Ask;
use superstep_core::reducer::Append;
use superstep_core::run::AnyGraph;
use superstep_core::state::Update;
use superstep_core::store::Store;
use superstep_macros::State;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Report {
    title: String,
    #[schemars(range(min = 0, max = 9))]
    rounds: u8,
    approved: bool,
    tone: Tone,
    tags: Vec<String>,
    author: Author,
    /// Anything else.
    more: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Tone {
    Dry,
    Warm,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Author {
    name: String,
    mail: Option<String>,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(crate = superstep_core)]
struct Shelf {
    #[reducer(Append)]
    reports: Vec<Report>,
}

/// Returns the graph `report`.
pub(crate) fn graph(saver: Arc<dyn Checkpointer>, store: Store) -> Result<AnyGraph, BuildError> {
    let mut g = StateGraph::<Shelf>::new("report");
    let file = g.node("file", file);
    g.edge(START, file);
    g.edge(file, END);
    Ok(g.compile()?.shared_checkpointer(saver).store(store).erased())
}

async fn file(author: Ask<String, Report>) -> Update<Shelf> {
    Shelf::update().reports([author.ask("What happened?".to_owned()).await])
}
