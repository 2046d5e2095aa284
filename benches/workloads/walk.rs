//! A thread of 10,000 checkpoints.

use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep::checkpoint::{Durability, SqliteSaver};
use superstep::prelude::*;

/// The supersteps of the thread. Its input and its start are checkpoints, too.
pub(crate) const STEPS: u64 = 9_998;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Walk {
    #[reducer(Append)]
    steps: Vec<String>,
    count: u64,
    goal: u64,
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    On,
    Done,
}

async fn walk(walk: Snapshot<Walk>) -> (Update<Walk>, Next) {
    let next = if walk.count + 1 < walk.goal { Next::On } else { Next::Done };
    (Walk::update().steps([format!("step {}", walk.count)]).count(walk.count + 1), next)
}

/// A graph that walks on until it has reached its goal.
pub(crate) async fn walking(path: &Path, durability: Durability) -> Graph<Walk> {
    let mut g = StateGraph::<Walk>::new("walk");
    let walk = g.node("walk", walk);
    g.edge(START, walk);
    g.route(walk, move |next| match next {
        Next::On => to(walk),
        Next::Done => END,
    });
    let saver = SqliteSaver::options().durability(durability).open(path).await.expect("the file opens");
    g.compile().expect("a loop is a sound graph").recursion_limit(STEPS + 1).checkpointer(saver)
}

/// Runs so many steps.
pub(crate) async fn finish(thread: &Thread<Walk>, steps: u64) {
    let run = thread.run(Walk::update().count(0).goal(steps)).await.expect("the steps run");
    assert_eq!(run.state.count, steps);
}

/// Writes the thread `long` to a new file.
pub(crate) async fn write(path: &Path) {
    finish(&walking(path, Durability::Process).await.thread("long"), STEPS).await;
}
