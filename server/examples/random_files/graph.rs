//! Random graphs over one state. What a node does depends on its task only, so that a repetition does the same.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_core::error::NodeError;
use superstep_core::graph::{BuildError, END, NodeRef, START, StateGraph, each, to};
use superstep_core::node::{Ask, Effects, Input, NoInput, Snapshot, TaskInfo};
use superstep_core::reducer::{Any, Append, Keyed, KeyedLog, LogWrite, MapWrite, Merge, Sum};
use superstep_core::run::{Graph, Lens};
use superstep_core::state::Update;
use superstep_macros::{Route, State};

use crate::values;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Item {
    id: String,
    value: Value,
}

impl Keyed for Item {
    fn id(&self) -> &str {
        &self.id
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(crate = superstep_core)]
pub(crate) struct Sheet {
    #[reducer(Append)]
    log: Vec<String>,
    #[reducer(KeyedLog)]
    items: Vec<Item>,
    #[reducer(Merge)]
    tags: BTreeMap<String, Value>,
    #[reducer(Any)]
    data: Value,
    #[reducer(Sum)]
    rounds: u64,
    #[state(secret)]
    #[reducer(Any)]
    token: String,
}

#[derive(Route, Serialize, Deserialize)]
#[route(crate = superstep_core)]
enum Turn {
    Back,
    On,
    Spread(Vec<u32>),
    Over,
}

/// A secret begins with this text, and goes into questions, keys of effects and errors. No reader shows it.
const CANARY: &str = "canary-5f0e";

/// The rounds after which a graph turns back no more.
const ROUNDS: u64 = 12;

/// Failures do not depend on the task: a node that failed may succeed when it is repeated.
type Luck = Arc<Mutex<Rng>>;

/// Draws what a task does. `Err` is its failure.
async fn act(
    seed: u64,
    luck: &Luck,
    task: &TaskInfo,
    sheet: &Sheet,
    human: &Ask<Value, Value>,
    fx: &Effects,
) -> Result<(Update<Sheet>, Rng), NodeError> {
    let mut hasher = DefaultHasher::new();
    (seed, task.place(), task.step()).hash(&mut hasher);
    let mut rng = Rng::with_seed(hasher.finish());
    let mut update = write(sheet, &mut rng).log([format!("{} at {}", task.node(), task.step())]);
    if rng.u8(..5) == 0 {
        let usage = json!({ "input_tokens": rng.u32(..900), "output_tokens": rng.u32(..90), "cache_read_tokens": rng.u32(..9) });
        let reply =
            json!({ "content": values::text(&mut rng), "model": "quill-1", "usage": usage, "elapsed_ms": 7 });
        let said = fx.run_keyed("model", &sheet.token, || async move { Ok::<_, io::Error>(reply) }).await?;
        update = update.log([said["content"].to_string()]);
    }
    if rng.u8(..7) == 0 {
        let question = json!({ "ask": values::value(&mut rng, 1), "as": sheet.token });
        let answer = human.ask(question).await;
        update = update.data(answer);
    }
    if luck.lock().unwrap_or_else(PoisonError::into_inner).u8(..12) == 0 {
        return Err(NodeError::terminal(format!("{} had no luck with {}", task.node(), sheet.token)));
    }
    Ok((update, rng))
}

/// Draws an update of some fields.
fn write(sheet: &Sheet, rng: &mut Rng) -> Update<Sheet> {
    let mut update = Sheet::update().rounds(1);
    if rng.bool() {
        update = update.data(values::changed(&sheet.data, rng));
    }
    if rng.u8(..3) == 0 {
        let items = (0..rng.usize(1..4)).map(|_| Item { id: values::id(rng), value: values::value(rng, 2) });
        update = update.items(items.collect::<Vec<_>>());
    } else if rng.u8(..4) == 0 {
        update = update.items(LogWrite::remove([values::id(rng)]));
    }
    match rng.u8(..6) {
        0 | 1 => update = update.tags([(values::key(rng), values::value(rng, 2))]),
        2 => update = update.tags(MapWrite::remove(sheet.tags.keys().take(1).cloned())),
        3 => update = update.token(format!("{CANARY} {}", rng.u8(..9))),
        _ => {}
    }
    update
}

/// Draws an edit, which may also replace what nodes can only add to.
pub(crate) fn edit(sheet: &Sheet, rng: &mut Rng) -> Update<Sheet> {
    let update = write(sheet, rng);
    match rng.u8(..3) {
        0 => {
            let mut items = sheet.items.clone();
            rng.shuffle(&mut items);
            update.set_items(items)
        }
        1 => {
            let mut log = sheet.log.clone();
            if !log.is_empty() {
                log.remove(rng.usize(..log.len()));
            }
            update.set_log(log)
        }
        _ => update,
    }
}

type Plain = NodeRef<NoInput, ()>;
type Turning = NodeRef<NoInput, Turn>;

/// Builds the graph of a seed: some layers of nodes, routes back and forth, and perhaps a subgraph, a join, a fan-out
/// and a node that waits for all others.
pub(crate) fn random(rng: &mut Rng, seed: u64) -> Result<Graph<Sheet>, BuildError> {
    let mut g = StateGraph::<Sheet>::new("random");
    let luck: Luck = Arc::new(Mutex::new(rng.fork()));
    let plain: Vec<Plain> =
        (0..rng.usize(2..5)).map(|at| node(&mut g, format!("n{at}"), seed, &luck)).collect();
    let worker = worker(&mut g, seed, &luck);
    let last = node(&mut g, "last".to_owned(), seed, &luck);
    let turning: Turning = {
        let luck = Arc::clone(&luck);
        g.node(
            "turn <b>",
            move |sheet: Snapshot<Sheet>, task: TaskInfo, human: Ask<Value, Value>, fx: Effects| {
                let luck = Arc::clone(&luck);
                async move {
                    let (update, mut rng) = act(seed, &luck, &task, &sheet, &human, &fx).await?;
                    let turn = match rng.u8(..4) {
                        _ if sheet.rounds > ROUNDS => Turn::Over,
                        0 => Turn::Back,
                        1 => Turn::On,
                        2 => Turn::Spread((0..rng.u32(..4)).collect()),
                        _ => Turn::Over,
                    };
                    Ok::<_, NodeError>((update, turn))
                }
            },
        )
    };
    let first = plain[0];
    g.edge(START, first);
    if rng.bool() {
        g.edge(START, plain[1]);
    }
    // An earlier node leads to each, and a node that leads to no later one leads to the one that turns.
    let mut leads = vec![false; plain.len()];
    for at in 1..plain.len() {
        let earlier = rng.usize(..at);
        for from in (0..at).filter(|from| *from == earlier || rng.u8(..4) == 0).collect::<Vec<_>>() {
            g.edge(plain[from], plain[at]);
            leads[from] = true;
        }
    }
    for (from, leads) in plain.iter().zip(leads) {
        if !leads || rng.u8(..3) == 0 {
            g.edge(*from, turning);
        }
    }
    let (back, on) = (plain[rng.usize(..plain.len())], plain[rng.usize(..plain.len())]);
    g.route(turning, move |turn| match turn {
        Turn::Back => to(back),
        Turn::On => to(on).and(to(last)),
        Turn::Spread(items) => each(worker, items),
        Turn::Over => END,
    });
    g.edge(worker, last);
    if rng.bool() {
        let inner = subgraph(rng, seed, &luck)?;
        let lens = Lens::new()
            .share(Sheet::LOG, Sheet::LOG)
            .share(Sheet::ROUNDS, Sheet::ROUNDS)
            .give(Sheet::DATA, Sheet::DATA);
        let inner = g.subgraph("inner", inner, lens);
        g.edge(first, inner);
        if rng.bool() {
            g.edge(inner, last);
        } else {
            g.join((inner, plain[1]), last);
        }
    }
    if rng.bool() {
        g.policy(last).defer();
    }
    g.edge(last, END);
    g.compile()
}

fn node(g: &mut StateGraph<Sheet>, name: String, seed: u64, luck: &Luck) -> Plain {
    let luck = Arc::clone(luck);
    g.node(name, move |sheet: Snapshot<Sheet>, task: TaskInfo, human: Ask<Value, Value>, fx: Effects| {
        let luck = Arc::clone(&luck);
        async move { Ok::<_, NodeError>(act(seed, &luck, &task, &sheet, &human, &fx).await?.0) }
    })
}

fn worker(
    g: &mut StateGraph<Sheet>,
    seed: u64,
    luck: &Luck,
) -> NodeRef<superstep_core::node::Takes<u32>, ()> {
    let luck = Arc::clone(luck);
    g.node(
        "worker",
        move |item: Input<u32>,
              sheet: Snapshot<Sheet>,
              task: TaskInfo,
              human: Ask<Value, Value>,
              fx: Effects| {
            let luck = Arc::clone(&luck);
            async move {
                let (update, _) = act(seed, &luck, &task, &sheet, &human, &fx).await?;
                Ok::<_, NodeError>(update.log([format!("item {}", *item)]))
            }
        },
    )
}

fn subgraph(rng: &mut Rng, seed: u64, luck: &Luck) -> Result<Graph<Sheet>, BuildError> {
    let mut g = StateGraph::<Sheet>::new("inner");
    let nodes: Vec<Plain> =
        (0..rng.usize(1..4)).map(|at| node(&mut g, format!("i{at}"), seed, luck)).collect();
    g.edge(START, nodes[0]);
    for pair in nodes.windows(2) {
        g.edge(pair[0], pair[1]);
    }
    g.edge(nodes[nodes.len() - 1], END);
    g.compile()
}
