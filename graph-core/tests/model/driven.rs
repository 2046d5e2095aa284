//! The same graphs on the driver, through all trouble.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use superstep::checkpoint::{Checkpoint, Checkpointer};
use superstep::error::NodeError;
use superstep::graph::{END, NodeRef, PolicyOf, START, StateGraph, Targets, each, to};
use superstep::node::{Ask, Dep, Effects, Input, NoInput, OnUnknown, Retry, Snapshot, Takes, TaskInfo};
use superstep::route::Route;
use superstep::run::{
    Ambient, CancellationToken, Graph, Interrupt, Lens, Run, RunError, RunEvent, Status, Thread,
};
use superstep::state::{Json, Update};
use uuid::Uuid;

use crate::failing::{FAILURE, Failing};
use crate::reference::{Ending, INNER_LIMIT, Told, one_of};
use crate::retold::Logs;
use crate::spec::{Kind, Said, Spec, Way, World, picks};
use crate::stage::{Shared, Stage, TOLD, Trouble};
use superstep::id::{NodeName, ThreadId};

#[derive(Route, Serialize, Deserialize)]
enum Pick {
    First,
    Second,
    Third,
}

impl Pick {
    fn of(number: usize) -> Self {
        match number {
            0 => Self::First,
            1 => Self::Second,
            _ => Self::Third,
        }
    }

    fn number(&self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
            Self::Third => 2,
        }
    }
}

fn update(said: Vec<Said>) -> Update<World> {
    said.into_iter().fold(World::update(), |update, said| match said {
        Said::Log(text) => update.log([text]),
        Said::SetLog(text) => update.set_log([text]),
        Said::Total(more) => update.total(more),
        Said::Last(text) => update.last(text),
        Said::One(text) => update.one(text),
        Said::Bell => update.bell(true),
    })
}

/// Ids and times that count up.
#[derive(Default)]
struct Counting(Mutex<u64>);

impl Ambient for Counting {
    fn id(&self) -> Uuid {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *next += 1;
        Uuid::from_u64_pair(0x0194_3d4e_7c00_7000 + (*next << 16), 0x8000_0000_0000_0000 | *next)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn roll(&self) -> f64 {
        0.0
    }
}

/// The handles of a graph's nodes, by position.
struct Handles {
    nodes: BTreeMap<usize, Targetable>,
    workers: BTreeMap<usize, NodeRef<Takes<u32>, ()>>,
}

#[derive(Clone, Copy)]
enum Targetable {
    Plain(NodeRef<NoInput, ()>),
    Routed(NodeRef<NoInput, Pick>),
}

impl Handles {
    fn targets(&self, ways: &[Way]) -> Targets {
        ways.iter().fold(END, |targets, way| {
            targets.and(match way {
                Way::To(node) => match self.nodes[node] {
                    Targetable::Plain(node) => to(node),
                    Targetable::Routed(node) => to(node),
                },
                Way::Each(worker, items) => each(self.workers[worker], 0..*items),
            })
        })
    }
}

/// A subgraph shares what is collected, and sees the rest.
fn shown<In>(lens: Lens<World, World, In>) -> Lens<World, World, In> {
    lens.share(World::LOG, World::LOG)
        .share(World::TOTAL, World::TOTAL)
        .give(World::LAST, World::LAST)
        .give(World::BELL, World::BELL)
}

fn register(g: &mut StateGraph<World, Stage>, spec: &Arc<Spec>) -> Handles {
    let mut handles = Handles { nodes: BTreeMap::new(), workers: BTreeMap::new() };
    for (position, node) in spec.nodes.iter().enumerate() {
        let acts = Arc::clone(spec);
        if let Some(inner) = &node.inner {
            let graph = compiled(inner).expect("it has been tried").recursion_limit(INNER_LIMIT);
            match node.kind {
                Kind::Worker { .. } => {
                    let begin = |item: &u32| World::update().one(one_of(*item));
                    let lens = shown(Lens::new().item(begin));
                    handles.workers.insert(position, g.subgraph(node.name, graph, lens));
                }
                _ => {
                    let lens = shown(Lens::new().give(World::ONE, World::ONE));
                    handles.nodes.insert(position, Targetable::Plain(g.subgraph(node.name, graph, lens)));
                }
            }
            continue;
        }
        match node.kind {
            Kind::Plain { .. } => {
                let act = move |world: Snapshot<World>,
                                task: TaskInfo,
                                ask: Ask<String, u32>,
                                fx: Effects,
                                stage: Dep<Shared>| {
                    let acts = Arc::clone(&acts);
                    async move {
                        stage.perform(&task, None, &world.one, &ask, &fx).await?;
                        Ok::<_, NodeError>(update(acts.nodes[position].says(None, &world)))
                    }
                };
                handles.nodes.insert(position, Targetable::Plain(g.node(node.name, act)));
            }
            Kind::Routed { .. } => {
                let act = move |world: Snapshot<World>,
                                task: TaskInfo,
                                ask: Ask<String, u32>,
                                fx: Effects,
                                stage: Dep<Shared>| {
                    let acts = Arc::clone(&acts);
                    async move {
                        stage.perform(&task, None, &world.one, &ask, &fx).await?;
                        let said = update(acts.nodes[position].says(None, &world));
                        Ok::<_, NodeError>((said, Pick::of(picks(&world, 3))))
                    }
                };
                handles.nodes.insert(position, Targetable::Routed(g.node(node.name, act)));
            }
            Kind::Worker { .. } => {
                let act = move |world: Snapshot<World>,
                                item: Input<u32>,
                                task: TaskInfo,
                                ask: Ask<String, u32>,
                                fx: Effects,
                                stage: Dep<Shared>| {
                    let acts = Arc::clone(&acts);
                    async move {
                        stage.perform(&task, Some(*item), &world.one, &ask, &fx).await?;
                        Ok::<_, NodeError>(update(acts.nodes[position].says(Some(*item), &world)))
                    }
                };
                handles.workers.insert(position, g.node(node.name, act));
            }
        }
    }
    handles
}

/// Tries once more, also what may have happened.
fn patient<In, Out>(policy: PolicyOf<'_, World, Stage, In, Out>, deferred: bool) {
    let policy = policy.retry(Retry::fixed(2, Duration::ZERO)).on_unknown(OnUnknown::Retry);
    if deferred {
        policy.defer();
    }
}

fn wire(g: &mut StateGraph<World, Stage>, spec: &Spec, handles: &Arc<Handles>) {
    for (position, handle) in &handles.nodes {
        let deferred = spec.nodes[*position].deferred;
        match *handle {
            Targetable::Plain(node) => patient(g.policy(node), deferred),
            Targetable::Routed(node) => patient(g.policy(node), deferred),
        }
    }
    for worker in handles.workers.values() {
        patient(g.policy(*worker), false);
    }
    for node in &spec.start {
        g.edge(START, handles.targets(&[Way::To(*node)]));
    }
    for (position, node) in spec.nodes.iter().enumerate() {
        let maps = Arc::clone(handles);
        match (&node.kind, handles.nodes.get(&position)) {
            (Kind::Plain { edges, branch }, Some(Targetable::Plain(handle))) => {
                g.edge(*handle, END);
                for edge in edges {
                    g.edge(*handle, handles.targets(&[Way::To(*edge)]));
                }
                if let Some(cases) = branch.clone() {
                    let decide = |world: &World| Pick::of(picks(world, 2));
                    g.branch(*handle, decide, move |pick| maps.targets(&cases[pick.number() % 2]));
                }
            }
            (Kind::Routed { cases }, Some(Targetable::Routed(handle))) => {
                let cases = cases.clone();
                let decision = g.route(*handle, move |pick| maps.targets(&cases[pick.number()]));
                // A circle of routes has a way out by this node, which leads to END.
                if let Some(Targetable::Plain(first)) = handles.nodes.get(&0) {
                    decision.may_reach(*first);
                }
            }
            (Kind::Worker { edges }, _) => {
                let handle = handles.workers[&position];
                g.edge(handle, END);
                for edge in edges {
                    g.edge(handle, handles.targets(&[Way::To(*edge)]));
                }
            }
            _ => unreachable!("a handle is of its node's kind"),
        }
    }
}

fn join(g: &mut StateGraph<World, Stage>, spec: &Spec, handles: &Handles) {
    for (sources, target) in &spec.joins {
        let plain: Vec<_> = sources
            .iter()
            .filter_map(|source| match handles.nodes.get(source) {
                Some(Targetable::Plain(node)) => Some(*node),
                _ => None,
            })
            .collect();
        let workers: Vec<_> =
            sources.iter().filter_map(|source| handles.workers.get(source).copied()).collect();
        match (handles.nodes[target], plain.as_slice(), workers.as_slice()) {
            (Targetable::Plain(target), [_, _, ..], []) => g.join(plain, target),
            (Targetable::Plain(target), [], _) => g.join(workers, target),
            (Targetable::Plain(target), [plain, ..], [worker, ..]) => g.join((*plain, *worker), target),
            (Targetable::Routed(target), [_, _, ..], []) => g.join(plain, target),
            (Targetable::Routed(target), [], _) => g.join(workers, target),
            (Targetable::Routed(target), [plain, ..], [worker, ..]) => g.join((*plain, *worker), target),
            (_, _, []) => unreachable!("a join has two sources"),
        }
    }
}

/// The graph of a spec; one that no compiler would refuse.
pub(crate) fn graph(spec: &mut Spec) -> Graph<World, Stage> {
    for inner in spec.nodes.iter_mut().filter_map(|node| node.inner.as_deref_mut()) {
        graph(inner);
    }
    if let Ok(graph) = compiled(spec) {
        return graph;
    }
    // A join that can never complete is refused; without joins nothing is.
    spec.joins.clear();
    compiled(spec).expect("every node is reached and leads to END")
}

fn compiled(spec: &Spec) -> Result<Graph<World, Stage>, superstep::graph::BuildError> {
    let spec = Arc::new(spec.clone());
    let mut g = StateGraph::<World, Stage>::new("random");
    let handles = Arc::new(register(&mut g, &spec));
    wire(&mut g, &spec, &handles);
    join(&mut g, &spec, &handles);
    g.compile()
}

/// The thread of the graph at the top.
const TOP: &str = "t";

/// How a graph is to be run.
pub(crate) struct Play {
    pub(crate) pace: u64,
    pub(crate) trouble: Trouble,
    pub(crate) at_once: usize,
    pub(crate) limit: u64,
}

/// What came of it.
pub(crate) struct Played {
    /// The checkpoints as the reference tells them.
    pub(crate) told: Vec<Told>,
    /// The same, byte for byte.
    pub(crate) texts: Vec<String>,
    pub(crate) ending: Ending,
    pub(crate) stage: Shared,
    /// Whether the trouble came before the end.
    pub(crate) troubled: bool,
    pub(crate) logs: Logs,
}

impl Play {
    /// Runs a graph to its end, through all trouble.
    pub(crate) fn run(self, graph: &Graph<World, Stage>) -> Played {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime of one thread").block_on(self.through_all_trouble(graph))
    }

    async fn through_all_trouble(self, graph: &Graph<World, Stage>) -> Played {
        let stage = Stage::default();
        {
            let mut backstage = stage.shared.lock();
            backstage.pace = self.pace;
            backstage.trouble = self.trouble.clone();
        }
        let saver: Arc<dyn Checkpointer> = Arc::new(Failing::new(stage.shared.clone()));
        let graph = graph.clone().with_context(stage.clone()).shared_checkpointer(Arc::clone(&saver));
        let graph = graph.ambient(Counting::default()).max_concurrency(self.at_once);
        let live: Arc<Mutex<Vec<RunEvent>>> = Arc::default();
        let log = Arc::clone(&live);
        let graph = graph.observe(move |event: &RunEvent| {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        });
        let thread = graph.thread(TOP);
        let mut troubled = false;
        let mut polls = match self.trouble {
            Trouble::Drop(polls) => polls,
            _ => usize::MAX,
        };
        let mut asked = Vec::new();
        let ending = loop {
            let result = self.once(&thread, &stage, polls, std::mem::take(&mut asked)).await;
            polls = usize::MAX;
            match result {
                Some(Ok(run)) => match run.status {
                    Status::Finished => break Ending::Finished,
                    Status::LimitReached { .. } => break Ending::LimitReached,
                    Status::Interrupted { interrupts } => asked = interrupts,
                    Status::Cancelled => {}
                    other => panic!("nobody asked for {other:?}"),
                },
                Some(Err(RunError::Conflict { field, first, second, .. })) => {
                    break Ending::Conflict { field, first: first.to_string(), second: second.to_string() };
                }
                Some(Err(RunError::Node(failure))) => {
                    let why = whole(failure.error.source());
                    if why.contains("supersteps and is not finished") || why.contains("in one superstep") {
                        break Ending::Broken;
                    }
                    assert!(why.contains(TOLD) || why.contains(FAILURE), "{why}");
                }
                Some(Err(error)) if matches!(self.trouble, Trouble::Store(..)) => {
                    assert!(error.to_string().contains(FAILURE), "{error}");
                }
                Some(Err(error)) => panic!("{error}"),
                None => {}
            }
            assert!(!troubled || matches!(self.trouble, Trouble::Ask(..)), "trouble comes once");
            troubled = true;
        };
        let mut texts = Vec::new();
        let told = checkpoints(&graph, thread.id().clone(), &mut texts).await.expect("it ran");
        let rebuilt = thread.events().expect("there is a saver").collect().await.expect("it ran");
        let rebuilt = rebuilt.into_iter().map(|past| past.event).collect();
        let live = std::mem::take(&mut *live.lock().unwrap_or_else(PoisonError::into_inner));
        Played { told, texts, ending, stage: stage.shared, troubled, logs: Logs { live, rebuilt } }
    }

    /// Runs on from where the thread is; `None` when the run was dropped.
    async fn once(
        &self,
        thread: &Thread<World>,
        stage: &Stage,
        mut polls: usize,
        asked: Vec<Interrupt>,
    ) -> Option<Result<Run<World>, RunError>> {
        let token = CancellationToken::new();
        stage.shared.lock().token = token.clone();
        let (request, step) = match thread.head().await {
            Ok(head) if asked.is_empty() => (thread.resume(), head.step()),
            Ok(head) => {
                let one = Json::encode(&1).expect("a number has a JSON form");
                let answers = asked.iter().map(|ask| (ask.id, one.clone()));
                (thread.answers(answers), head.step())
            }
            Err(_) => (thread.run(World::update().log(["in"])), 0),
        };
        let left = self.limit - u64::try_from(step).unwrap_or(0);
        let mut run = request.cancel_on(token).recursion_limit(left).into_future();
        stage.shared.lock().running = true;
        let ended = poll_fn(|context| {
            if polls == 0 {
                return Poll::Ready(None);
            }
            polls -= 1;
            run.as_mut().poll(context).map(Some)
        })
        .await;
        stage.shared.lock().running = false;
        ended
    }
}

/// The checkpoints of a thread and of those below it; `None` when there is no such thread.
fn checkpoints<'a>(
    graph: &'a Graph<World>,
    thread: ThreadId,
    texts: &'a mut Vec<String>,
) -> BoxFuture<'a, Option<Vec<Told>>> {
    Box::pin(async move {
        let on = graph.thread(thread.clone());
        let history = on.history().expect("there is a saver").collect().await.ok()?;
        if history.is_empty() {
            return None;
        }
        let (mut told, mut next) = (Vec::new(), Vec::new());
        for summary in history.iter().rev() {
            let past = on.at(summary.id).await.expect("it is in the history");
            let names = |names: &[NodeName]| names.iter().map(ToString::to_string).collect();
            let mut inside = Vec::new();
            for task in std::mem::take(&mut next) {
                inside.extend(checkpoints(graph, thread.below(task), texts).await);
            }
            let checkpoint = &past.loaded().checkpoint;
            next = checkpoint
                .frontier
                .tasks
                .iter()
                .map(|task| task.id(checkpoint.id, checkpoint.step))
                .collect();
            texts.push(text_of(checkpoint, thread.as_str() == TOP));
            told.push(Told {
                step: summary.step,
                ran: names(&summary.ran),
                next: names(&summary.next),
                world: past.into_state(),
                inside,
            });
        }
        Some(told)
    })
}

/// A checkpoint as it is stored. Below the top ids come in the order in which subgraphs run, so they are left out.
fn text_of(checkpoint: &Checkpoint, with_ids: bool) -> String {
    let text = serde_json::to_string(checkpoint).expect("it is stored as JSON");
    if with_ids {
        return text;
    }
    let ids = [Some(checkpoint.id), checkpoint.parent];
    ids.iter().flatten().fold(text, |text, id| text.replace(&id.to_string(), "#"))
}

/// An error with its causes.
fn whole(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
