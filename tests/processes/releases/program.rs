//! The program that wrote the files of older releases, and that continues them today.
//!
//! It uses only the API that every release has, because it is compiled with each: see
//! `graph-checkpoint/tests/fixtures`. Five graphs with one state have two threads each: one that finished, and one that
//! stopped in the middle.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;
use superstep::run::Lens;

/// Longer than the limit above which texts are stored once per content.
const LONG: usize = 4500;

/// The graphs, by name.
pub(crate) const GRAPHS: [&str; 5] = ["chain", "fan-out", "ask", "effect", "subgraph"];

/// The answer to every question.
pub(crate) const ANSWER: u64 = 7;

/// The number of turns of a thread.
const TURNS: u32 = 2;

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trip {
    turns: u32,
    turn: u32,
    #[reducer(Append)]
    log: Vec<String>,
    #[reducer(Sum)]
    weight: u64,
    page: String,
}

/// The context of nodes: whether they have luck, and where they note their actions.
#[derive(Clone, Default)]
pub(crate) struct World {
    unlucky: Arc<AtomicBool>,
    done: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn does(&self, what: impl Into<String>) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    /// The notes since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Fails in the second turn of threads without luck.
    fn try_luck(&self, turn: u32) -> Result<(), io::Error> {
        match turn > 0 && self.unlucky.load(Ordering::Relaxed) {
            true => Err(io::Error::other("the power is out")),
            false => Ok(()),
        }
    }
}

#[derive(Clone, FromRef)]
pub(crate) struct Deps {
    world: World,
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Again,
    Done,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Pack(Vec<u64>),
}

async fn walk(trip: Snapshot<Trip>, world: Dep<World>) -> Update<Trip> {
    world.does("walk");
    Trip::update().log([format!("walk {}", trip.turn)]).weight(1_u64)
}

/// Finishes, or fails, after its siblings.
async fn write(trip: Snapshot<Trip>, world: Dep<World>) -> Result<Update<Trip>, NodeError> {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    world.try_luck(trip.turn)?;
    world.does("write");
    let page = format!("{} {}", trip.turn, "x".repeat(LONG));
    Ok(Trip::update().log([format!("write {}", trip.turn)]).page(page))
}

/// The last node of each turn.
async fn close(trip: Snapshot<Trip>, world: Dep<World>) -> (Update<Trip>, Next) {
    world.does("close");
    let turn = trip.turn + 1;
    (Trip::update().turn(turn), if turn < trip.turns { Next::Again } else { Next::Done })
}

async fn plan(trip: Snapshot<Trip>, world: Dep<World>) -> Plan {
    world.does("plan");
    Plan::Pack((1..=3).map(|weight| weight + u64::from(trip.turn)).collect())
}

async fn pack(weight: Input<u64>, world: Dep<World>) -> Update<Trip> {
    world.does(format!("pack {}", *weight));
    Trip::update().log([format!("pack {}", *weight)]).weight(*weight)
}

async fn inquire(trip: Snapshot<Trip>, world: Dep<World>, ask: Ask<String, u64>) -> Update<Trip> {
    let answer = ask.ask(format!("how long is turn {}?", trip.turn)).await;
    world.does("inquire");
    Trip::update().log([format!("inquire {answer}")]).weight(answer)
}

async fn pay(trip: Snapshot<Trip>, world: Dep<World>, fx: Effects) -> Result<Update<Trip>, NodeError> {
    let happens = |name: &'static str, value: u64| {
        let world = world.clone();
        move || async move {
            world.does(name);
            Ok::<_, io::Error>(value)
        }
    };
    let mut weight = fx.run("charge", happens("charge", 5)).await?;
    world.try_luck(trip.turn)?;
    weight += fx.run("ship", happens("ship", 7)).await?;
    Ok(Trip::update().log([format!("pay {weight}")]).weight(weight))
}

/// The graph of this name.
pub(crate) fn graph(name: &str, world: &World) -> Graph<Trip> {
    let mut g = StateGraph::<Trip, Deps>::new(name);
    let close = g.node("close", close);
    match name {
        "chain" => {
            let walk = g.node("walk", walk);
            let write = g.node("write", write);
            g.edge(START, walk);
            g.edge(walk, write);
            g.edge(write, close);
            g.route(close, move |next| match next {
                Next::Again => to(walk),
                Next::Done => END,
            });
        }
        "fan-out" => {
            let plan = g.node("plan", plan);
            let pack = g.node("pack", pack);
            let write = g.node("write", write);
            g.edge(START, plan);
            g.route(plan, move |Plan::Pack(weights)| each(pack, weights).and(to(write)));
            g.join((pack, write), close);
            g.route(close, move |next| match next {
                Next::Again => to(plan),
                Next::Done => END,
            });
        }
        "ask" => {
            let inquire = g.node("inquire", inquire);
            g.edge(START, inquire);
            g.edge(inquire, close);
            g.route(close, move |next| match next {
                Next::Again => to(inquire),
                Next::Done => END,
            });
        }
        "effect" => {
            let pay = g.node("pay", pay);
            g.edge(START, pay);
            g.edge(pay, close);
            g.route(close, move |next| match next {
                Next::Again => to(pay),
                Next::Done => END,
            });
        }
        "subgraph" => {
            let lens = Lens::new().give(Trip::TURN, Trip::TURN).share(Trip::LOG, Trip::LOG);
            let site = g.subgraph("site", site(), lens);
            g.edge(START, site);
            g.edge(site, close);
            g.route(close, move |next| match next {
                Next::Again => to(site),
                Next::Done => END,
            });
        }
        other => unreachable!("there is no graph {other}"),
    }
    g.compile().expect("a sound graph").with_context(Deps { world: world.clone() })
}

fn site() -> Graph<Trip, Deps> {
    let mut g = StateGraph::<Trip, Deps>::new("site");
    let walk = g.node("walk", walk);
    let write = g.node("write", write);
    g.edge(START, walk);
    g.edge(walk, write);
    g.edge(write, END);
    g.compile().expect("a sound graph")
}

/// Continues until the thread ends or fails; the question of the second turn stays open for threads without luck.
pub(crate) async fn go_on(
    thread: &Thread<Trip>,
    run: Result<Run<Trip>, RunError>,
    world: &World,
) -> Result<Trip, RunError> {
    let mut run = run?;
    while let Status::Interrupted { .. } = &run.status {
        if run.state.turn > 0 && world.unlucky.load(Ordering::Relaxed) {
            break;
        }
        run = thread.answer(&ANSWER).await?;
    }
    Ok(run.into_state())
}

/// Runs a thread from its beginning.
pub(crate) async fn run(thread: &Thread<Trip>, world: &World) -> Result<Trip, RunError> {
    let begun = thread.run(Trip { turns: TURNS, ..Trip::default() }).await;
    go_on(thread, begun, world).await
}

/// Writes the file of a release: for each graph the threads `<graph> done` and `<graph> open`, and for the chain a
/// thread that shares the past of the first.
pub(crate) async fn fill(saver: Arc<dyn Checkpointer>) -> Result<(), Box<dyn std::error::Error>> {
    let world = World::default();
    for name in GRAPHS {
        let trips = graph(name, &world).shared_checkpointer(Arc::clone(&saver));
        world.unlucky.store(false, Ordering::Relaxed);
        run(&trips.thread(format!("{name} done")), &world).await?;
        world.unlucky.store(true, Ordering::Relaxed);
        let ended = run(&trips.thread(format!("{name} open")), &world).await;
        assert_eq!(ended.is_ok(), name == "ask", "{name}: {ended:?}");
    }
    world.unlucky.store(false, Ordering::Relaxed);
    let trips = graph("chain", &world).shared_checkpointer(saver);
    let fork = trips.thread("chain done").before_named("write").await?.fork("chain fork").await?;
    fork.edit(Trip::update().weight(100_u64)).await?;
    let ended = fork.resume().await?;
    assert_eq!(ended.state.weight, 102);
    Ok(())
}

/// The final state of a thread of a graph when it is run today.
pub(crate) async fn expected(name: &str) -> Trip {
    let world = World::default();
    let trips = graph(name, &world).checkpointer(MemorySaver::new());
    run(&trips.thread("t"), &world).await.expect("it has luck")
}
