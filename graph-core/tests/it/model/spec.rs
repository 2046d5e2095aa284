//! Random small graphs: the kinds of their nodes, their targets, and their writes.

use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use superstep::reducer::{Any, Append, Ephemeral, Sum};
use superstep::state::State;

/// The state of every graph.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct World {
    #[reducer(Append)]
    pub(crate) log: Vec<String>,
    #[reducer(Sum)]
    pub(crate) total: u64,
    #[reducer(Any)]
    pub(crate) last: String,
    pub(crate) one: String,
    #[reducer(Ephemeral)]
    pub(crate) bell: bool,
}

/// One write of a node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    Log(String),
    SetLog(String),
    Total(u64),
    Last(String),
    One(String),
    Bell,
}

/// A target of a route or a branch.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// A node.
    To(usize),
    /// A worker, and the number of its items.
    Each(usize, u32),
    /// An exit of the subgraph, with one of two decisions for the surrounding graph.
    Leave(usize),
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Follows its edges, and its branch, which decides on the state after the node's own writes.
    Plain { edges: Vec<usize>, branch: Option<[Vec<Way>; 2]> },
    /// Decides on the state that it sees.
    Routed { cases: [Vec<Way>; 3] },
    /// Takes items.
    Worker { edges: Vec<usize> },
}

/// The fields that a node writes in addition to the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writes {
    pub(crate) total: bool,
    pub(crate) one: bool,
    pub(crate) overwrite: bool,
    pub(crate) bell: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) writes: Writes,
    /// `true` if the node waits until nothing else is left to run.
    pub(crate) deferred: bool,
    /// The subgraph that the node runs instead of a function. If the node is routed, it decides by the subgraph's
    /// ending.
    pub(crate) inner: Option<Box<Spec>>,
    /// `true` if the subgraph continues with the state of its last run for the same item.
    pub(crate) keeps: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) nodes: Vec<Node>,
    /// The targets of START.
    pub(crate) start: Vec<usize>,
    pub(crate) joins: Vec<(Vec<usize>, usize)>,
    /// `true` if some of its targets may be an exit.
    pub(crate) leaves: bool,
    /// The maximum number of its tasks that run at once, as a subgraph.
    pub(crate) at_once: Option<usize>,
}

/// Names for each level, whose order as strings is neither that of numbers nor that of registration.
const NAMES: [[&str; 9]; 3] = [
    ["b", "a2", "a10", "A", "z", "Z", "é", "a", "w_"],
    ["q", "p2", "p10", "P", "y", "Y", "è", "p", "v_"],
    ["h", "g2", "g10", "G", "x", "X", "ê", "g", "u_"],
];

/// The deepest level: a subgraph of a subgraph.
const DEEPEST: usize = 2;

impl Node {
    /// Returns the key under which the state of the node's subgraph is kept.
    pub(crate) fn key(&self, item: Option<u32>) -> Option<String> {
        self.keeps.then(|| kept_as(self.name, item))
    }

    /// Returns the writes of a task of the node, which sees `world`.
    pub(crate) fn says(&self, item: Option<u32>, world: &World) -> Vec<Said> {
        let bell = if world.bell { "!" } else { "" };
        let item = item.map(|item| format!("({item})")).unwrap_or_default();
        let text = format!("{}{item}@{}{bell}", self.name, world.log.len());
        let mut said = vec![Said::Log(text.clone())];
        if self.writes.overwrite {
            said.push(Said::SetLog(format!("{text}=")));
            said.push(Said::Log(format!("{text}+")));
        }
        if self.writes.total {
            said.push(Said::Total(world.log.len() as u64 + 1));
            said.push(Said::Last(text.clone()));
        }
        if self.writes.one {
            said.push(Said::One(text));
        }
        if self.writes.bell {
            said.push(Said::Bell);
        }
        said
    }
}

/// Returns the key of the kept state of a node's subgraph.
pub(crate) fn kept_as(node: &str, item: Option<u32>) -> String {
    item.map_or_else(|| node.to_owned(), |item| format!("{node} of {item}"))
}

/// Returns the index of the case that a node chooses among `cases`, given `world`.
pub(crate) fn picks(world: &World, cases: usize) -> usize {
    (world.log.len() + world.total as usize) % cases
}

/// The random values from which a graph is made. Indices are taken modulo the number of choices.
#[derive(Clone, Debug)]
struct Drawn {
    plain: Vec<(Vec<usize>, Option<DrawnBranch>, DrawnNode)>,
    routed: Vec<([Vec<DrawnWay>; 3], DrawnNode)>,
    workers: Vec<(Vec<usize>, DrawnNode)>,
    joins: Vec<(Vec<usize>, usize)>,
    start: Vec<usize>,
    at_once: Option<usize>,
}

type DrawnBranch = [Vec<DrawnWay>; 2];
type DrawnWay = (bool, usize, u32);
type DrawnWrites = (bool, u8, u8, u8);
/// The node's writes, whether it is deferred, and its subgraph, with `true` if that keeps its state.
type DrawnNode = (DrawnWrites, bool, Option<(Box<Drawn>, bool)>);

impl Drawn {
    fn spec(self, level: usize, leaves: bool) -> Spec {
        let (plain, routed, workers) = (self.plain.len(), self.routed.len(), self.workers.len());
        let nodes = plain + routed;
        // Below the top, most edges lead to later nodes, because a subgraph with a cycle would never finish.
        let onwards = |from: usize, to: usize| level == 0 || from >= plain || to > from;
        let edges = |drawn: &[usize], from: Option<usize>| {
            let edges = drawn.iter().map(|edge| edge % nodes);
            let mut edges: Vec<usize> =
                edges.filter(|to| from.is_none_or(|from| onwards(from, *to))).collect();
            edges.dedup();
            edges
        };
        let way = |drawn: &DrawnWay| match drawn {
            (_, node, decision) if leaves && node % 4 == 3 => Way::Leave(*decision as usize % 2),
            (true, worker, items) if workers > 0 => Way::Each(nodes + worker % workers, items % 4),
            (_, node, _) => Way::To(node % nodes),
        };
        let ways = |drawn: &Vec<DrawnWay>| drawn.iter().map(way).collect::<Vec<_>>();
        let mut kinds: Vec<(Kind, DrawnNode)> = Vec::new();
        for (position, (to, branch, node)) in self.plain.into_iter().enumerate() {
            let branch = branch.map(|[a, b]| [ways(&a), ways(&b)]);
            kinds.push((Kind::Plain { edges: edges(&to, Some(position)), branch }, node));
        }
        for (position, ([a, b, c], node)) in self.routed.into_iter().enumerate() {
            let mut cases = [ways(&a), ways(&b), ways(&c)];
            // Ensures that every worker can be reached.
            for worker in (0..workers).filter(|worker| worker % routed == position) {
                cases[1].push(Way::Each(nodes + worker, 2));
            }
            kinds.push((Kind::Routed { cases }, node));
        }
        // Without a route nothing leads to a worker.
        if routed > 0 {
            for (to, node) in self.workers {
                kinds.push((Kind::Worker { edges: edges(&to, None) }, node));
            }
        }
        let unrouted: Vec<usize> = (0..plain).chain(nodes..kinds.len()).collect();
        let joins = self.joins.iter().filter_map(|(sources, target)| {
            let target = target % nodes;
            let mut sources: Vec<usize> =
                sources.iter().map(|source| unrouted[source % unrouted.len()]).collect();
            sources.sort_unstable();
            sources.dedup();
            sources.retain(|source| *source != target);
            // The builder accepts sources of one type, or a pair of two types.
            if let Some(worker) = sources.iter().position(|source| *source >= nodes)
                && worker > 0
            {
                sources = vec![sources[0], sources[worker]];
            }
            (sources.len() > 1).then_some((sources, target))
        });
        let nodes =
            kinds.into_iter().zip(NAMES[level]).map(|((kind, (writes, deferred, inner)), name)| Node {
                name,
                // A node that takes items cannot be deferred.
                deferred: deferred && !matches!(kind, Kind::Worker { .. }),
                keeps: inner.as_ref().is_some_and(|(_, keeps)| *keeps),
                inner: inner
                    .map(|(inner, _)| Box::new(inner.spec(level + 1, matches!(kind, Kind::Routed { .. })))),
                kind,
                writes: Writes {
                    total: writes.0,
                    one: writes.1 == 0,
                    overwrite: writes.2 == 0,
                    bell: writes.3 == 0,
                },
            });
        let spec = Spec {
            joins: joins.collect(),
            start: edges(&self.start, None),
            nodes: nodes.collect(),
            leaves,
            at_once: self.at_once,
        };
        spec.reachable(plain + routed)
    }
}

impl Spec {
    /// Connects START to the nodes that nothing else leads to.
    fn reachable(mut self, nodes: usize) -> Self {
        loop {
            let mut reached = self.start.clone();
            let mut next = 0;
            while next < reached.len() {
                for target in self.leads_to(reached[next]) {
                    if !reached.contains(&target) {
                        reached.push(target);
                    }
                }
                next += 1;
            }
            match (0..nodes).find(|node| !reached.contains(node)) {
                Some(lost) => self.start.push(lost),
                None => return self,
            }
        }
    }

    /// Returns the nodes to which the edges and the decisions of a node may lead.
    pub(crate) fn leads_to(&self, node: usize) -> Vec<usize> {
        let to = |way: &Way| match way {
            Way::To(node) | Way::Each(node, _) => Some(*node),
            Way::Leave(_) => None,
        };
        match &self.nodes[node].kind {
            Kind::Plain { edges, branch } => {
                let branch = branch.iter().flatten().flatten().filter_map(to);
                edges.iter().copied().chain(branch).collect()
            }
            Kind::Routed { cases } => cases.iter().flatten().filter_map(to).collect(),
            Kind::Worker { edges } => edges.clone(),
        }
    }
}

/// Generates random graphs of at most eight nodes; some of the nodes are smaller graphs.
pub(crate) fn specs() -> impl Strategy<Value = Spec> {
    drawn(0).prop_map(|drawn| drawn.spec(0, false))
}

fn drawn(level: usize) -> BoxedStrategy<Drawn> {
    let way = || (any::<bool>(), 0..20usize, 0..8u32);
    let ways = move || vec(way(), 0..3);
    let edges = || vec(0..20usize, 0..3);
    let writes = || (any::<bool>(), 0..12u8, 0..10u8, 0..12u8);
    let branch = move || proptest::option::weighted(0.4, [ways(), ways()]);
    let node = move || {
        let inner = if level < DEEPEST {
            let inner = (drawn(level + 1).prop_map(Box::new), proptest::bool::weighted(0.4));
            proptest::option::weighted(0.15, inner).boxed()
        } else {
            Just(None).boxed()
        };
        (writes(), proptest::bool::weighted(0.2), inner)
    };
    let (most, few) = if level == 0 { (5, 3) } else { (4, 2) };
    let drawn = (
        vec((edges(), branch(), node()), 1..most),
        vec(([ways(), ways(), ways()], node()), 0..few),
        vec((edges(), node()), 0..few),
        vec((vec(0..20usize, 2..4), 0..20usize), 0..few),
        vec(0..20usize, 1..3),
        proptest::option::weighted(0.4, 1..4usize),
    );
    let drawn = drawn.prop_map(|(plain, routed, workers, joins, start, at_once)| {
        let workers = if routed.is_empty() { Vec::new() } else { workers };
        Drawn { plain, routed, workers, joins, start, at_once }
    });
    drawn.boxed()
}
