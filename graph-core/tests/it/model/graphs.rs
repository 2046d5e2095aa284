//! The random graphs, built with the graph builder.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use superstep::error::NodeError;
use superstep::graph::{
    BuildError, END, Exit, Exited, NodeRef, PolicyOf, START, StateGraph, Targets, each, to,
};
use superstep::node::{Ask, Dep, Effects, Input, NoInput, OnUnknown, Retry, Snapshot, Takes, TaskInfo};
use superstep::route::Route;
use superstep::run::{Graph, Lens};
use superstep::state::Update;

use super::reference::{INNER_LIMIT, one_of};
use super::spec::{Kind, Node, Said, Spec, Way, World, kept_as, picks};
use super::stage::{Shared, Stage};

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

/// The decision with which a subgraph takes its exit.
#[derive(Clone, Route, Serialize, Deserialize)]
enum Leave {
    First,
    Second,
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

/// The handles of a graph's nodes, by position.
struct Handles {
    nodes: BTreeMap<usize, Targetable>,
    workers: BTreeMap<usize, NodeRef<Takes<u32>, ()>>,
    exit: Option<Exit<Leave>>,
}

#[derive(Clone, Copy)]
enum Targetable {
    Plain(NodeRef<NoInput, ()>),
    Routed(NodeRef<NoInput, Pick>),
    /// A subgraph with an exit.
    Left(NodeRef<NoInput, Exited<Leave>>),
}

impl Handles {
    fn targets(&self, ways: &[Way]) -> Targets {
        ways.iter().fold(END, |targets, way| {
            targets.and(match way {
                Way::To(node) => match self.nodes[node] {
                    Targetable::Plain(node) => to(node),
                    Targetable::Routed(node) => to(node),
                    Targetable::Left(node) => to(node),
                },
                Way::Each(worker, items) => each(self.workers[worker], 0..*items),
                Way::Leave(decision) => {
                    let exit = self.exit.expect("only a graph that is left has such ways");
                    exit.with(if *decision == 0 { Leave::First } else { Leave::Second })
                }
            })
        })
    }
}

/// Returns the lens of a subgraph: it shares the collected fields, and either sees the others or keeps its own.
fn shown(node: &Node) -> Lens<World, World> {
    let lens = Lens::new()
        .share(World::LOG, World::LOG)
        .share(World::TOTAL, World::TOTAL)
        .give(World::BELL, World::BELL);
    match node.keeps {
        true => lens,
        false => lens.give(World::LAST, World::LAST).give(World::ONE, World::ONE),
    }
}

fn register_inner(
    g: &mut StateGraph<World, Stage>,
    handles: &mut Handles,
    (position, node): (usize, &Node),
    inner: &Spec,
) {
    let mut graph = compiled(inner).expect("it has been tried").recursion_limit(INNER_LIMIT);
    if let Some(at_once) = inner.at_once {
        graph = graph.max_concurrency(at_once);
    }
    let lens = shown(node);
    let name = node.name;
    if matches!(node.kind, Kind::Worker { .. }) {
        let lens = lens.item(|item: &u32| World::update().one(one_of(*item)));
        let lens = match node.keeps {
            true => lens.keep_by_item(move |item| kept_as(name, Some(*item))),
            false => lens,
        };
        handles.workers.insert(position, g.subgraph(name, graph, lens));
        return;
    }
    let lens = if node.keeps { lens.keep(kept_as(name, None)) } else { lens };
    let handle = match node.kind {
        Kind::Routed { .. } => Targetable::Left(g.subgraph(name, graph, lens.exits::<Leave>())),
        _ => Targetable::Plain(g.subgraph(name, graph, lens)),
    };
    handles.nodes.insert(position, handle);
}

type Seen = Snapshot<World>;
type Question = Ask<String, u32>;
type Backstage = Dep<Shared>;
/// The result of a node.
type Acted<O> = BoxFuture<'static, Result<O, NodeError>>;

/// Builds a node without an item. It calls `perform`, and then `outcome` converts its writes into its result.
fn acting<O: Send + 'static>(
    spec: &Arc<Spec>,
    position: usize,
    outcome: fn(Update<World>, &World) -> O,
) -> impl Fn(Seen, TaskInfo, Question, Effects, Backstage) -> Acted<O> + Send + Sync + 'static {
    let spec = Arc::clone(spec);
    move |world, task, ask, fx, stage| {
        let spec = Arc::clone(&spec);
        Box::pin(async move {
            stage.perform(&task, None, &world.one, &ask, &fx).await?;
            Ok(outcome(update(spec.nodes[position].says(None, &world)), &world))
        })
    }
}

fn register(g: &mut StateGraph<World, Stage>, spec: &Arc<Spec>) -> Handles {
    let exit = spec.leaves.then(|| g.exit::<Leave>());
    let mut handles = Handles { nodes: BTreeMap::new(), workers: BTreeMap::new(), exit };
    for (position, node) in spec.nodes.iter().enumerate() {
        if let Some(inner) = &node.inner {
            register_inner(g, &mut handles, (position, node), inner);
            continue;
        }
        match node.kind {
            Kind::Plain { .. } => {
                let act = acting(spec, position, |said, _| said);
                handles.nodes.insert(position, Targetable::Plain(g.node(node.name, act)));
            }
            Kind::Routed { .. } => {
                let act = acting(spec, position, |said, world| (said, Pick::of(picks(world, 3))));
                handles.nodes.insert(position, Targetable::Routed(g.node(node.name, act)));
            }
            Kind::Worker { .. } => {
                let acts = Arc::clone(spec);
                let act = move |world: Seen,
                                item: Input<u32>,
                                task: TaskInfo,
                                ask: Question,
                                fx: Effects,
                                stage: Backstage| {
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

/// Sets policies that retry once, including effects of unknown outcome.
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
            Targetable::Left(node) => patient(g.policy(node), deferred),
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
                // Cycles of routes have an exit through this node, which leads to END.
                if let Some(Targetable::Plain(first)) = handles.nodes.get(&0) {
                    decision.may_reach(*first);
                }
            }
            (Kind::Routed { cases }, Some(Targetable::Left(handle))) => {
                let cases = cases.clone();
                let decision = g.route(*handle, move |exited| {
                    maps.targets(match exited {
                        Exited::Finished => &cases[0],
                        Exited::With(Leave::First) => &cases[1],
                        Exited::With(Leave::Second) => &cases[2],
                    })
                });
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
        match handles.nodes[target] {
            Targetable::Plain(target) => join_into(g, &plain, &workers, target),
            Targetable::Routed(target) => join_into(g, &plain, &workers, target),
            Targetable::Left(target) => join_into(g, &plain, &workers, target),
        }
    }
}

fn join_into<Out>(
    g: &mut StateGraph<World, Stage>,
    plain: &[NodeRef<NoInput, ()>],
    workers: &[NodeRef<Takes<u32>, ()>],
    target: NodeRef<NoInput, Out>,
) {
    match (plain, workers) {
        ([_, _, ..], []) => g.join(plain.to_vec(), target),
        ([], _) => g.join(workers.to_vec(), target),
        ([plain, ..], [worker, ..]) => g.join((*plain, *worker), target),
        (_, []) => unreachable!("a join has two sources"),
    }
}

/// Builds the graph of a spec, after removing what `compile()` rejects.
pub(crate) fn graph(spec: &mut Spec) -> Graph<World, Stage> {
    for inner in spec.nodes.iter_mut().filter_map(|node| node.inner.as_deref_mut()) {
        graph(inner);
    }
    if let Ok(graph) = compiled(spec) {
        return graph;
    }
    // A join that can never complete is rejected. Without joins, nothing is.
    spec.joins.clear();
    compiled(spec).expect("every node is reached and leads to END")
}

fn compiled(spec: &Spec) -> Result<Graph<World, Stage>, BuildError> {
    let spec = Arc::new(spec.clone());
    let mut g = StateGraph::<World, Stage>::new("random");
    let handles = Arc::new(register(&mut g, &spec));
    wire(&mut g, &spec, &handles);
    join(&mut g, &spec, &handles);
    g.compile()
}
