//! A long run in a large graph, to measure the page with.

use std::path::Path;

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use superstep_checkpoint::{Durability, SqliteSaver};
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::node::Snapshot;
use superstep_core::state::Update;
use superstep_macros::{Route, State};

/// The number of supersteps.
const STEPS: u64 = 10_000;

/// The number of nodes beside the one that runs.
const NODES: usize = 1_000;

/// The number of later nodes to which each node may have an edge.
const NEAR: usize = 20;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(crate = superstep_core)]
struct Draft {
    answer: String,
    rounds: u64,
    facts: Vec<String>,
}

#[derive(Route, Serialize, Deserialize)]
#[route(crate = superstep_core)]
enum Turn {
    Again,
    On,
    Over,
}

/// Writes the thread `first`, which ran one node over and over.
pub(crate) async fn write(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = Rng::with_seed(0);
    let mut g = StateGraph::<Draft>::new("large");
    let turn = g.node("turn", turn);
    g.edge(START, turn);
    let nodes: Vec<_> = (0..NODES).map(|at| g.node(format!("node {at}"), idle)).collect();
    for at in 1..NODES {
        g.edge(nodes[at - 1], nodes[at]);
        let from = at.saturating_sub(rng.usize(2..NEAR));
        g.edge(nodes[from], nodes[at]);
        g.edge(nodes[at.saturating_sub(rng.usize(2..NEAR))], nodes[at]);
    }
    g.edge(nodes[NODES - 1], END);
    let first = nodes[0];
    g.route(turn, move |turn_| match turn_ {
        Turn::Again => to(turn),
        Turn::On => to(first),
        Turn::Over => END,
    });
    let saver = SqliteSaver::options().durability(Durability::Process).open(path).await?;
    let graph = g.compile()?.checkpointer(saver).recursion_limit(STEPS + 10);
    let facts = (0..50).map(|at| format!("fact {at}"));
    let run = graph.thread("first").run(Draft { facts: facts.collect(), ..Draft::default() }).await?;
    run.finished()?;
    Ok(())
}

async fn turn(draft: Snapshot<Draft>) -> (Update<Draft>, Turn) {
    let rounds = draft.rounds + 1;
    let turn = if rounds < STEPS - 1 { Turn::Again } else { Turn::Over };
    (Draft::update().answer(format!("answer {rounds}")).rounds(rounds), turn)
}

async fn idle(_: Snapshot<Draft>) -> Update<Draft> {
    Draft::update()
}
