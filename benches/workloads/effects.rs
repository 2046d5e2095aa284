//! Benchmarks of recording effects.

use std::convert::Infallible;
use std::time::Instant;

use futures_util::future::join_all;
use serde_json::Map;
use superstep::checkpoint::{Durability, SqliteSaver};
use superstep::prelude::*;
use tempfile::TempDir;

use crate::engine::on_worker;
use crate::report::{Figure, median, round};

const STEPS: u64 = 1_000;
const ROUNDS: usize = 5;
/// The number of effects that a node has in flight at once.
const AT_ONCE: u64 = 10;

#[derive(State, Clone, Debug, Default)]
struct Count {
    step: u64,
    /// The number of effects that a step has in flight.
    effects: u64,
}

async fn count(count: Snapshot<Count>, fx: Effects) -> Update<Count> {
    let one = || async { Ok::<_, Infallible>(1_u64) };
    let effects: Vec<_> = (0..count.effects).map(|number| fx.run_keyed("effect", number, one)).collect();
    let sum: u64 = join_all(effects).await.into_iter().map(|Ok(value)| value).sum();
    assert_eq!(sum, count.effects, "every effect gives its value");
    Count::update().step(count.step + 1)
}

/// W17: a step with an effect, with `Process` durability.
pub(crate) fn process() -> Figure {
    measured(Durability::Process)
}

/// W17p: W17 with `Power` durability, the default.
pub(crate) fn power() -> Figure {
    measured(Durability::Power)
}

fn measured(durability: Durability) -> Figure {
    on_worker(async move {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let (mut added, mut added_at_once) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let without = timed(durability, 0).await;
            let with_one = timed(durability, 1).await;
            let at_once = timed(durability, AT_ONCE).await;
            added.push(with_one - without);
            added_at_once.push((at_once - without) / AT_ONCE as f64);
            values.push(with_one);
            baselines.push(without);
        }
        let mut extra = Map::new();
        extra.insert("us_per_effect".into(), round(median(&added)).into());
        extra.insert("us_per_effect_of_ten_at_once".into(), round(median(&added_at_once)).into());
        Figure { unit: "µs/step", values, baselines, extra, target: "the same step without an effect" }
    })
}

/// Returns the time of a step whose node runs `effects` effects at once, in microseconds.
async fn timed(durability: Durability, effects: u64) -> f64 {
    let folder = TempDir::new().expect("a folder for the files");
    let saver = SqliteSaver::options().durability(durability).open(folder.path().join("effects.db"));
    let mut g = StateGraph::<Count>::new("effects");
    let count = g.node("count", count);
    g.edge(START, count);
    g.edge(count, count);
    g.edge(count, END);
    let graph = g.compile().expect("a loop is a sound graph").recursion_limit(STEPS);
    let graph = graph.checkpointer(saver.await.expect("a new file opens"));
    let begun = Instant::now();
    let run = graph.thread("count").run(Count::update().effects(effects)).await.expect("the loop runs");
    assert_eq!(run.state.step, STEPS, "every step counted");
    begun.elapsed().as_secs_f64() * 1_000_000.0 / STEPS as f64
}
