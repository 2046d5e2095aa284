//! The workloads: five graphs with one state, each a loop of a few supersteps.

use std::io;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

use crate::torture::order::Workload;
use crate::torture::said::{Line, Voice};

/// Longer than the limit above which texts are stored once per content.
const LONG: usize = 4500;

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

impl Trip {
    pub(crate) fn of(turns: u32) -> Self {
        Self { turns, ..Self::default() }
    }
}

/// A change from outside.
pub(crate) fn heavier() -> Update<Trip> {
    Trip::update().weight(1_u64)
}

/// The context of nodes.
#[derive(Clone, FromRef)]
pub(crate) struct Deps {
    pub(crate) voice: Voice,
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

/// The answer to a question of [`Workload::Ask`].
pub(crate) fn answer(question: &str) -> u64 {
    question.len() as u64
}

/// Prints that the task starts; returns its id.
fn start(task: &TaskInfo, voice: &Voice) -> String {
    let id = task.task_id().map(|id| id.to_string()).unwrap_or_default();
    let thread = task.thread().as_str().to_owned();
    voice.say(Line::Start { task: id.clone(), thread, step: task.step() });
    id
}

fn log(task: &TaskInfo, what: impl std::fmt::Display) -> Update<Trip> {
    Trip::update().log([format!("{} {what}", task.node())])
}

async fn walk(trip: Snapshot<Trip>, task: TaskInfo, voice: Dep<Voice>) -> Update<Trip> {
    start(&task, &voice);
    log(&task, trip.turn).weight(1_u64)
}

async fn write(trip: Snapshot<Trip>, task: TaskInfo, voice: Dep<Voice>) -> Update<Trip> {
    start(&task, &voice);
    log(&task, trip.turn).page(format!("{} {}", trip.turn, "x".repeat(LONG)))
}

/// The last node of each turn.
async fn close(trip: Snapshot<Trip>, task: TaskInfo, voice: Dep<Voice>) -> (Update<Trip>, Next) {
    start(&task, &voice);
    let turn = trip.turn + 1;
    (Trip::update().turn(turn), if turn < trip.turns { Next::Again } else { Next::Done })
}

async fn plan(trip: Snapshot<Trip>, task: TaskInfo, voice: Dep<Voice>) -> Plan {
    start(&task, &voice);
    Plan::Pack((1..=3).map(|weight| weight + u64::from(trip.turn)).collect())
}

/// Siblings that finish one after the other.
async fn pack(weight: Input<u64>, task: TaskInfo, voice: Dep<Voice>) -> Update<Trip> {
    start(&task, &voice);
    for _ in 0..*weight {
        tokio::task::yield_now().await;
    }
    log(&task, *weight).weight(*weight)
}

async fn inquire(
    trip: Snapshot<Trip>,
    task: TaskInfo,
    voice: Dep<Voice>,
    ask: Ask<String, u64>,
) -> Update<Trip> {
    start(&task, &voice);
    let answer = ask.ask(format!("how long is turn {}?", trip.turn)).await;
    log(&task, answer).weight(answer)
}

async fn pay(task: TaskInfo, voice: Dep<Voice>, fx: Effects) -> Result<Update<Trip>, NodeError> {
    let id = start(&task, &voice);
    let mut weight = 0;
    for (name, value) in [("charge", 5_u64), ("ship", 7)] {
        let happens = || async {
            voice.say(Line::Effect { task: id.clone(), name: name.into() });
            Ok::<_, io::Error>(value)
        };
        weight += fx.run(name, happens).await?;
    }
    Ok(log(&task, weight).weight(weight))
}

/// The graph of a workload.
pub(crate) fn graph(workload: Workload, voice: Voice) -> Graph<Trip> {
    let mut g = StateGraph::<Trip, Deps>::new("trip");
    let close = g.node("close", close);
    match workload {
        Workload::Chain => {
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
        Workload::FanOut => {
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
        Workload::Ask => {
            let inquire = g.node("inquire", inquire);
            g.edge(START, inquire);
            g.edge(inquire, close);
            g.route(close, move |next| match next {
                Next::Again => to(inquire),
                Next::Done => END,
            });
        }
        Workload::Effect => {
            let pay = g.node("pay", pay);
            // Paying twice is harmless here: a kill leaves effects with an unknown outcome.
            g.policy(pay).on_unknown(OnUnknown::Retry);
            g.edge(START, pay);
            g.edge(pay, close);
            g.route(close, move |next| match next {
                Next::Again => to(pay),
                Next::Done => END,
            });
        }
        Workload::Subgraph => {
            let site = g.subgraph(
                "site",
                site(),
                Lens::new().give(Trip::TURN, Trip::TURN).share(Trip::LOG, Trip::LOG),
            );
            g.edge(START, site);
            g.edge(site, close);
            g.route(close, move |next| match next {
                Next::Again => to(site),
                Next::Done => END,
            });
        }
    }
    g.compile().expect("a sound graph").with_context(Deps { voice })
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
