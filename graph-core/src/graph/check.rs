//! The problems of a graph; one check finds all of them.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{Dfs, EdgeRef, Reversed};

use super::topology::{NodeId, Topology, Wire};
use crate::id::NodeName;
use crate::state::{FieldId, Found, Schema, Writers};

/// The error of a graph that cannot run, with all of its problems.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    /// The graph's name.
    pub graph: NodeName,
    /// All problems of the graph.
    pub problems: Vec<Problem>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len();
        write!(f, "graph {:?} has {count} problem{}", self.graph, if count == 1 { "" } else { "s" })?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}

/// Formats like `Display`, because a `main` that returns the error prints it with `Debug`.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for BuildError {}

/// One problem of a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Two nodes have the same name. Names identify nodes in storage, so each must be unique.
    #[error("two nodes are called {name:?}")]
    DuplicateName {
        /// The name.
        name: NodeName,
    },
    /// The name is empty or has a special meaning. Choose another one.
    #[error("a node cannot be called {name:?}: the name is reserved")]
    ReservedName {
        /// The name.
        name: NodeName,
    },
    /// No edge leads from START to a node.
    #[error("nothing leads from START to a node; add g.edge(START, node)")]
    NoStart,
    /// No run can reach this node.
    #[error("node {node:?} cannot be reached from START")]
    Unreachable {
        /// The node.
        node: NodeName,
    },
    /// The node has no outgoing edge.
    #[error("node {node:?} leads nowhere; if the run ends there, add g.edge({node}, END)")]
    LeadsNowhere {
        /// The node.
        node: NodeName,
    },
    /// A run that reaches this node can never end.
    #[error("node {node:?} has no way to END")]
    NoWayToEnd {
        /// The node.
        node: NodeName,
    },
    /// The node returns a route, but there is no map for it.
    #[error("node {node:?} returns a route, but its cases have no targets; add g.route({node}, |route| ..)")]
    Unrouted {
        /// The node.
        node: NodeName,
    },
    /// The node blocks its thread, so it cannot be suspended until an answer arrives.
    #[error(
        "node {node:?} blocks its thread and takes `Ask` or `Effects`, which could wait forever; make it an async \
         node, and run its blocking code with spawn_blocking"
    )]
    BlockingWaits {
        /// The node, or the node whose error handler it is.
        node: NodeName,
    },
    /// The node takes the failure that only error handlers receive.
    #[error("node {node:?} takes `Failed`, which only error handlers receive; wire it with on_error(..)")]
    FailedOutsideHandler {
        /// The node.
        node: NodeName,
    },
    /// The node returns a route, but the graph's error handler, which applies to it, makes no decision.
    #[error(
        "node {node:?} returns a route, which the graph's error handler does not; give the node a handler of its \
         own, or the graph one with on_error_route(..)"
    )]
    UnroutedError {
        /// The node.
        node: NodeName,
    },
    /// The node has two maps for its decision.
    #[error("node {node:?} is routed twice")]
    RoutedTwice {
        /// The node.
        node: NodeName,
    },
    /// A source of the join only runs after the join's target, so the join cannot complete.
    #[error("the join into {target:?} can never complete: {source_node:?} cannot run before {target:?} has")]
    JoinNeverCompletes {
        /// The joined node.
        target: NodeName,
        /// The source that runs too late.
        source_node: NodeName,
    },
    /// The join has fewer than two sources.
    #[error("the join into {target:?} has fewer than two sources; use g.edge")]
    JoinOfOne {
        /// The joined node.
        target: NodeName,
    },
    /// An edge leads to `each`, which decides how many tasks run and therefore belongs in a route.
    #[error("a plain edge from {from:?} leads to `each(..)`; only a route can send items")]
    EachOnEdge {
        /// The edge's source.
        from: NodeName,
    },
    /// The node is deferred, so it would run once, but it takes items of `each`, which need one task each.
    #[error("node {node:?} takes items of `each(..)`, one task each, so it cannot be deferred")]
    DeferredTakesItems {
        /// The node.
        node: NodeName,
    },
    /// The handle was returned by the builder of another graph.
    #[error("a handle of another graph was used; use the handles that this graph's `node` returned")]
    ForeignHandle,
    /// Two nodes that always run in the same superstep both write a field that allows one writer.
    #[error(
        "nodes {first:?} and {second:?} always run in one superstep and both write {field:?}, which allows one writer"
    )]
    CertainConflict {
        /// One node.
        first: NodeName,
        /// The other.
        second: NodeName,
        /// The field.
        field: String,
    },
    /// The graph has exits with decisions of two types.
    #[error("the graph has exits of two types, {first} and {second}; use one enum for both")]
    TwoExits {
        /// One.
        first: String,
        /// The other.
        second: String,
    },
    /// The decision type of the subgraph's exit differs from the one that its lens expects.
    #[error("subgraph {node:?} {}, and its lens {}", leaves(.exit.as_deref()), expects(.lens.as_deref()))]
    OtherExit {
        /// The subgraph's node.
        node: NodeName,
        /// The type that the graph's exit leaves with.
        exit: Option<String>,
        /// The decision type that the lens expects.
        lens: Option<String>,
    },
    /// The lens shares two fields that have different reducers.
    #[error(
        "the lens of subgraph {node:?} shares {outer:?}, which is reduced by {outer_reducer}, and {inner:?}, which is reduced by {inner_reducer}"
    )]
    SharedDifferently {
        /// The subgraph's node.
        node: NodeName,
        /// The field of the surrounding graph.
        outer: String,
        /// Its reducer.
        outer_reducer: String,
        /// The subgraph's field.
        inner: String,
        /// Its reducer.
        inner_reducer: String,
    },
    /// The lens copies a secret field to a field that is not secret.
    #[error(
        "the lens of subgraph {node:?} copies {from:?}, which is secret, to {to:?}, which is not: make that secret as \
         well, or copy only the public part with give_with or take_with"
    )]
    SecretLeaks {
        /// The subgraph's node.
        node: NodeName,
        /// The secret field.
        from: String,
        /// The field that is not secret.
        to: String,
    },
    /// Subgraphs are nested in more levels than the stored description of a graph allows. A node function can run a
    /// graph of its own instead, which is stored separately.
    #[error(
        "node {node:?} runs subgraphs in {levels} levels, and there may be {limit}; let a node in between run its graph as \
         one of its own, with graph.thread(..).run(..)"
    )]
    TooManyLevels {
        /// The node of the outermost subgraph.
        node: NodeName,
        /// The number of levels of subgraphs in it.
        levels: usize,
        /// The maximum number of levels.
        limit: usize,
    },
    /// A question or an edge of the graph does not fit into the graph's stored description.
    #[error("the graph cannot be described: {reason}; use types with less nesting in its questions")]
    Indescribable {
        /// The reason.
        reason: String,
    },
    /// A mistake in a description, with its path.
    #[error("{0}")]
    Described(Found),
    /// The map of a route panicked on the example of a case.
    #[error("the route of {node:?} panicked on the example of its case {case}: {panic}")]
    MapPanicked {
        /// The node.
        node: NodeName,
        /// The case.
        case: String,
        /// The panic's message.
        panic: String,
    },
}

fn leaves(exit: Option<&str>) -> String {
    exit.map_or("has no exit".into(), |exit| alloc::format!("exits with a {exit}"))
}

fn expects(lens: Option<&str>) -> String {
    match lens {
        Some(lens) => alloc::format!("expects a {lens}"),
        None => "declares none; add .exits::<..>() to it".into(),
    }
}

/// Checks a topology. `writes` contains the fields that each node declares to write.
pub(super) fn topology(
    topology: &Topology,
    writes: &[&[FieldId]],
    schema: &Schema,
    problems: &mut Vec<Problem>,
) {
    let wires = topology.wires();
    let start = NodeIndex::new(NodeId::START.index());
    let reached = reach(&wires, start);
    if wires.edges(start).next().is_none() {
        problems.push(Problem::NoStart);
    }
    let ending = ways_to_end(&wires);
    for (id, name) in topology.nodes() {
        let at = NodeIndex::new(id.index());
        let node = || name.clone();
        if !reached[id.index()] && wires.edges(start).next().is_some() {
            problems.push(Problem::Unreachable { node: node() });
        }
        if wires.edges(at).all(|edge| matches!(edge.weight(), Wire::OnError(_))) {
            // A decision without a map is reported as its own problem.
            if !problems.contains(&Problem::Unrouted { node: node() }) {
                problems.push(Problem::LeadsNowhere { node: node() });
            }
        } else if !ending[id.index()] {
            problems.push(Problem::NoWayToEnd { node: node() });
        }
    }
    levels(topology, problems);
    for deferred in &topology.deferred {
        if topology.node(deferred.node).takes.is_some() {
            let node = topology.node_name(deferred.node).clone();
            problems.push(Problem::DeferredTakesItems { node });
        }
    }
    joins(topology, &wires, problems);
    conflicts(topology, writes, schema, problems);
}

/// Checks the levels of subgraphs: a description contains the descriptions of its subgraphs, and the nesting of
/// JSON is limited.
fn levels(topology: &Topology, problems: &mut Vec<Problem>) {
    for node in &topology.nodes {
        let levels = node.subgraph.as_ref().map_or(0, |inner| 1 + inner.levels());
        if levels > Topology::MOST_LEVELS {
            let (node, limit) = (node.name.clone(), Topology::MOST_LEVELS);
            problems.push(Problem::TooManyLevels { node, levels, limit });
        }
    }
}

/// Returns, for each node, whether it can be reached from `start`.
fn reach(wires: &DiGraph<NodeId, Wire>, start: NodeIndex) -> Vec<bool> {
    let mut reached = alloc::vec![false; wires.node_count()];
    let mut search = Dfs::new(wires, start);
    while let Some(node) = search.next(wires) {
        reached[node.index()] = true;
    }
    reached
}

/// Returns, for each node, whether it can reach END.
fn ways_to_end(wires: &DiGraph<NodeId, Wire>) -> Vec<bool> {
    let mut ending = alloc::vec![false; wires.node_count()];
    let backwards = Reversed(wires);
    let mut search = Dfs::new(backwards, NodeIndex::new(NodeId::END.index()));
    while let Some(node) = search.next(backwards) {
        ending[node.index()] = true;
    }
    ending
}

/// Finds joins that cannot complete because one of their sources is only reached through their target.
fn joins(topology: &Topology, wires: &DiGraph<NodeId, Wire>, problems: &mut Vec<Problem>) {
    for join in &topology.joins {
        let mut without = wires.clone();
        let target = NodeIndex::new(join.target.index());
        let outgoing: Vec<_> =
            without.edges_directed(target, Direction::Outgoing).map(|edge| edge.id()).collect();
        without.retain_edges(|_, edge| !outgoing.contains(&edge));
        let reached = reach(&without, NodeIndex::new(NodeId::START.index()));
        for &source in &join.sources {
            if !reached[source.index()] || source == join.target {
                problems.push(Problem::JoinNeverCompletes {
                    target: topology.node_name(join.target).clone(),
                    source_node: topology.node_name(source).clone(),
                });
            }
        }
    }
}

/// Finds conflicting writes: the targets of a node's plain edges always run in the same superstep, unless one of
/// them is deferred.
fn conflicts(topology: &Topology, writes: &[&[FieldId]], schema: &Schema, problems: &mut Vec<Problem>) {
    for node in &topology.nodes {
        for (position, first) in node.edges.iter().enumerate() {
            for second in &node.edges[position + 1..] {
                if first == second || topology.is_deferred(*first) || topology.is_deferred(*second) {
                    continue;
                }
                for field in
                    writes[first.index()].iter().filter(|field| writes[second.index()].contains(field))
                {
                    if schema.field(*field).writers == Writers::One {
                        problems.push(Problem::CertainConflict {
                            first: topology.node_name(*first).clone(),
                            second: topology.node_name(*second).clone(),
                            field: schema.field(*field).name.clone(),
                        });
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
