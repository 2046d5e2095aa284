//! The graphs that the processes run.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

/// The time of a run of [`sleeper`].
const RUN: Duration = Duration::from_millis(20);
/// The time of a task of [`fan`].
pub(crate) const TASK: Duration = Duration::from_millis(200);
/// The tasks that a process of M2 runs at the same time.
pub(crate) const AT_ONCE: usize = 16;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Count {
    pub(crate) to: u64,
    pub(crate) count: u64,
    /// The node sleeps for so long, and has an effect.
    pub(crate) ms: u64,
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Again,
    Done,
}

/// A run of one node that sleeps.
pub(crate) fn sleeper() -> Graph<Count> {
    let mut g = StateGraph::<Count>::new("sleeper");
    let sleep = g.node("sleep", async || {
        tokio::time::sleep(RUN).await;
        Count::update().count(1)
    });
    g.edge(START, sleep);
    g.edge(sleep, END);
    g.compile().expect("a graph of one node is sound")
}

/// A chain of supersteps.
pub(crate) fn count(folder: &Path) -> Graph<Count> {
    let folder = folder.to_owned();
    let mut g = StateGraph::<Count>::new("count");
    let node = g.node("count", move |state: Snapshot<Count>, fx: Effects| {
        let folder = folder.clone();
        async move {
            let count = state.count + 1;
            if state.ms > 0 {
                tokio::time::sleep(Duration::from_millis(state.ms)).await;
                let effect = || async {
                    append(&folder, "counted_by", std::process::id())?;
                    append(&folder, "counted", count)
                };
                fx.run("done", effect).await?;
            }
            let next = if count < state.to { Next::Again } else { Next::Done };
            Ok::<_, NodeError>((Count::update().count(count), next))
        }
    });
    g.edge(START, node);
    g.route(node, move |next| match next {
        Next::Again => to(node),
        Next::Done => END,
    });
    g.compile().expect("a loop is a sound graph").recursion_limit(100_000)
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Fan {
    pub(crate) items: u32,
    #[reducer(Append)]
    pub(crate) done: Vec<u32>,
}

#[derive(Route, Serialize, Deserialize)]
enum Spread {
    Items(Vec<u32>),
}

/// A superstep of many tasks that sleep. The effect comes after the sleep, so that a task that is killed has none.
pub(crate) fn fan(folder: &Path) -> Graph<Fan> {
    let folder = folder.to_owned();
    let mut g = StateGraph::<Fan>::new("fan");
    let split = g.node("split", async |fan: Snapshot<Fan>| Spread::Items((0..fan.items).collect()));
    let work = g.node("work", move |item: Input<u32>, fx: Effects| {
        let folder = folder.clone();
        async move {
            tokio::time::sleep(TASK).await;
            let fx = fx.effect("work").idempotent();
            fx.run(|key| {
                let line = format!("{key} {}", std::process::id());
                async move { append(&folder, "worked", line) }
            })
            .await?;
            Ok::<_, NodeError>(Fan::update().done([*item]))
        }
    });
    g.edge(START, split);
    g.route(split, move |Spread::Items(items)| each(work, items));
    g.edge(work, END);
    g.compile().expect("it is complete")
}

/// Adds a line to a file.
fn append(folder: &Path, name: &str, line: impl std::fmt::Display) -> std::io::Result<()> {
    let mut file = File::options().create(true).append(true).open(folder.join(name))?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Returns the lines of a file.
pub(crate) fn lines(folder: &Path, name: &str) -> Vec<String> {
    let path: PathBuf = folder.join(name);
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}
