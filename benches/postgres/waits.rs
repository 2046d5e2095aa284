//! The number of times that a run waits for the server, measured over a slow network: a run that waits twice takes two round
//! trips.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Map;
use superstep::prelude::*;

use crate::chain::DELAY;
use crate::cluster::Cluster;
use crate::database::{Counter, block_on, cycle, ms_since, saver};
use crate::proxy::Proxy;
use crate::raw::Raw;
use crate::report::{Figure, median, round};

const ROUNDS: usize = 5;
const STEPS: u64 = 21;
const TASKS: u32 = 64;
const NEW_RUNS: usize = 20;

/// The round trip of D1: long, so that everything else is short.
const LONG: Duration = Duration::from_millis(40);

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Fan {
    items: u32,
    #[reducer(Append)]
    done: Vec<u32>,
}

#[derive(Route, Serialize, Deserialize)]
enum Spread {
    Items(Vec<u32>),
}

/// A superstep of as many tasks as the input says, after a superstep of one.
fn fan() -> Graph<Fan> {
    let mut g = StateGraph::<Fan>::new("fan");
    let split = g.node("split", async |fan: Snapshot<Fan>| Spread::Items((0..fan.items).collect()));
    let work = g.node("work", async |item: Input<u32>| Fan::update().done([*item]));
    g.edge(START, split);
    g.route(split, move |Spread::Items(items)| each(work, items));
    g.edge(work, END);
    g.compile().expect("it is complete").max_concurrency(TASKS as usize)
}

/// A run through the proxy, with its waits and its statements.
#[derive(Clone, Copy)]
struct Seen {
    waits: f64,
    statements: f64,
}

impl Seen {
    async fn of(proxy: &Proxy, run: impl IntoFuture) -> Self {
        proxy.waits();
        let begun = Instant::now();
        run.await;
        Self { waits: ms_since(begun) / LONG.as_secs_f64() / 1e3, statements: proxy.waits() as f64 }
    }

    /// Returns the share of a superstep in the difference to a run with fewer.
    fn since(self, fewer: Self, supersteps: f64) -> Self {
        let of = |more: f64, fewer: f64| (more - fewer) / supersteps;
        Self { waits: of(self.waits, fewer.waits), statements: of(self.statements, fewer.statements) }
    }
}

/// Returns what a superstep of 64 tasks costs more than one of one task.
async fn wide(proxy: &Proxy, graph: &Graph<Fan>, round: usize) -> Seen {
    let run = async |items: u32| {
        let thread = graph.thread(format!("{round} {items}"));
        let run = thread.run(Fan::update().items(items)).await.expect("it runs");
        assert_eq!(run.state.done.len(), items as usize);
    };
    // The connections are opened before.
    Seen::of(proxy, run(TASKS)).await;
    let one = Seen::of(proxy, run(1)).await;
    let run = graph.thread(format!("{round} again"));
    let all = Seen::of(proxy, async { run.run(Fan::update().items(TASKS)).await.expect("it runs") }).await;
    let more = all.since(one, 1.0);
    Seen { waits: more.waits + 1.0, statements: more.statements + 1.0 }
}

/// D1: the waits of a superstep with one task; `extra` has those of one with 64 tasks.
pub(crate) fn superstep(cluster: Arc<Cluster>) -> Figure {
    let proxy = Proxy::with_delay(cluster.folder(), LONG);
    block_on(async move {
        let url = proxy.url();
        let (short, long) = (cycle(1), cycle(STEPS));
        let one = saver(&url, "waits", 16).await;
        let (short, long) = (short.checkpointer(one.clone()), long.checkpointer(one));
        let run = async |graph: &Graph<Counter>, name: String| {
            let run = graph.thread(name).run(Counter::default()).await.expect("the loop runs");
            assert!(run.state.count > 0);
        };
        run(&short, "warm".into()).await;
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let few = fan().checkpointer(saver(&url, "waits", 16).await);
        let many = fan().checkpointer(saver(&url, "waits", 80).await);
        let held = fan().checkpointer(saver(&url, "waits", 80).await).lease(Lease::new());
        let mut wides = [Vec::new(), Vec::new(), Vec::new()];
        let mut statements = Map::new();
        let mut raw = Raw::open(&url, 1, 500).await.pop().expect("one connection");
        for round in 0..ROUNDS {
            baselines.push(raw.steps(10).await / 10.0 / LONG.as_secs_f64() / 1e3);
            let fewer = Seen::of(&proxy, run(&short, format!("short {round}"))).await;
            let more = Seen::of(&proxy, run(&long, format!("long {round}"))).await;
            values.push(more.since(fewer, (STEPS - 1) as f64).waits);
            for ((name, graph), seen) in [("64", &many), ("64_leased", &held), ("64_on_16_connections", &few)]
                .into_iter()
                .zip(&mut wides)
            {
                let wide = wide(&proxy, graph, seen.len() + 100 * name.len()).await;
                seen.push(wide.waits);
                statements.insert(format!("statements_{name}"), wide.statements.round().into());
            }
        }
        let names = ["waits_64", "waits_64_leased", "waits_64_on_16_connections"];
        let waits =
            names.iter().zip(&wides).map(|(name, waits)| ((*name).to_owned(), round(median(waits)).into()));
        let extra = waits.chain(statements).collect();
        let target = "the raw statement; 1, of 64 tasks 2, with a lease 1";
        Figure { unit: "waits", values, baselines, extra, target }
    })
}

/// D4: a run of one node on a new thread, over a network whose round trip takes 10 ms.
pub(crate) fn new_run(cluster: Arc<Cluster>) -> Figure {
    let proxy = Proxy::with_delay(cluster.folder(), DELAY);
    block_on(async move {
        let graph = cycle(1).checkpointer(saver(&proxy.url(), "new_run", 16).await);
        let mut raw = Raw::open(&proxy.url(), 1, 500).await.pop().expect("one connection");
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        for number in 0..=NEW_RUNS {
            let begun = Instant::now();
            let run = graph.thread(format!("new {number}")).run(Counter::default()).await;
            assert_eq!(run.expect("it runs").state.count, 1);
            // The first run registers the graph.
            if number > 0 {
                values.push(ms_since(begun));
                baselines.push(raw.steps(1).await);
            }
        }
        let target = "one raw statement over the same 10 ms; ≤ 35 ms";
        Figure { unit: "ms", values, baselines, extra: Map::new(), target }
    })
}
