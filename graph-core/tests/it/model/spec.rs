//! Random small graphs: what their nodes are, where they lead, what they write.

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
    /// A worker, and how many items it gets.
    Each(usize, u32),
    /// Out of the subgraph, with one of two decisions for the graph around it.
    Leave(usize),
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Leads along its edges; and along its branch, decided on what it sees after its own writes.
    Plain { edges: Vec<usize>, branch: Option<[Vec<Way>; 2]> },
    /// Decides where to go on what it saw.
    Routed { cases: [Vec<Way>; 3] },
    /// Takes items.
    Worker { edges: Vec<usize> },
}

/// Which fields a node writes, beside the log.
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
    /// Waits until nothing else is left to run.
    pub(crate) deferred: bool,
    /// The subgraph that it is, instead of a function. A routed one decides by how its subgraph was left.
    pub(crate) inner: Option<Box<Spec>>,
    /// Whether its subgraph goes on with the state of its last run, of the same item.
    pub(crate) keeps: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) nodes: Vec<Node>,
    /// Where START leads.
    pub(crate) start: Vec<usize>,
    pub(crate) joins: Vec<(Vec<usize>, usize)>,
    /// Whether some of its ways may lead out of it.
    pub(crate) leaves: bool,
    /// How many of its tasks run at once, as a subgraph.
    pub(crate) at_once: Option<usize>,
}

/// Names whose order as strings is neither that of numbers nor that of registration, for each level.
const NAMES: [[&str; 9]; 3] = [
    ["b", "a2", "a10", "A", "z", "Z", "é", "a", "w_"],
    ["q", "p2", "p10", "P", "y", "Y", "è", "p", "v_"],
    ["h", "g2", "g10", "G", "x", "X", "ê", "g", "u_"],
];

/// The deepest level: a subgraph of a subgraph.
const DEEPEST: usize = 2;

impl Node {
    /// The key under which the state of its subgraph is kept.
    pub(crate) fn key(&self, item: Option<u32>) -> Option<String> {
        self.keeps.then(|| kept_as(self.name, item))
    }

    /// What a task of the node writes, seeing `world`.
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

/// The key of a node's subgraph.
pub(crate) fn kept_as(node: &str, item: Option<u32>) -> String {
    item.map_or_else(|| node.to_owned(), |item| format!("{node} of {item}"))
}

/// Which of `cases` a node picks, seeing `world`.
pub(crate) fn picks(world: &World, cases: usize) -> usize {
    (world.log.len() + world.total as usize) % cases
}

/// What a strategy draws; indices are taken modulo what there is.
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
/// What it writes, whether it is deferred, and the subgraph that it is, which may keep its state.
type DrawnNode = (DrawnWrites, bool, Option<(Box<Drawn>, bool)>);

impl Drawn {
    fn spec(self, level: usize, leaves: bool) -> Spec {
        let (plain, routed, workers) = (self.plain.len(), self.routed.len(), self.workers.len());
        let nodes = plain + routed;
        // Below the top most edges lead onwards: a subgraph that goes round in circles is never finished.
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
            // Every worker is reached from somewhere.
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
            // The builder takes sources of one type, or a pair of two.
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
                // Who takes items cannot wait.
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
    /// Lets START lead to what nothing else leads to.
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

    /// Where the edges and the decisions of a node may lead.
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

/// Random graphs of at most eight nodes, some of which are smaller graphs.
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
