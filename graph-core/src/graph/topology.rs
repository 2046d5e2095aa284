//! The frozen nodes and edges of a graph, with which the engine plans.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Dfs;
use serde::{Deserialize, Serialize};

use super::handle::{END_INDEX, START_INDEX};
use crate::id::{Fingerprint, NodeName};
use crate::state::{CodecError, Json};

/// The position of a node in its [`Topology`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The start of a run.
    pub const START: Self = Self(START_INDEX);
    /// The end of a run.
    pub const END: Self = Self(END_INDEX);

    /// Returns the position as an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A graph's nodes and wiring, checked and frozen.
#[derive(Clone, Debug)]
pub struct Topology {
    pub(crate) name: NodeName,
    pub(crate) nodes: Vec<TopologyNode>,
    pub(crate) joins: Vec<Join>,
    /// The deferred nodes, which run only when nothing else is left to run.
    pub(crate) deferred: Vec<DeferredWires>,
}

/// One node of a [`Topology`].
#[derive(Clone, Debug)]
pub(crate) struct TopologyNode {
    pub(crate) name: NodeName,
    /// The node's position when the names are sorted as plain strings: the merge order of a superstep.
    pub(crate) rank: u32,
    /// The targets of plain edges, without END, which needs no planning.
    pub(crate) edges: Vec<NodeId>,
    /// `true` if a plain edge leads to END.
    pub(crate) ends: bool,
    /// The joins that have this node as a source.
    pub(crate) joins: Vec<usize>,
    /// The cases of its route and its branches, with their targets.
    pub(crate) decisions: Vec<Decision>,
    /// The type of its `Input`.
    pub(crate) takes: Option<String>,
    /// The JSON Schemas of its asks, as pairs of question and answer.
    pub(crate) asks: Vec<(Json, Json)>,
    /// The JSON Schemas of the asks of its error handler.
    pub(crate) handler_asks: Vec<(Json, Json)>,
    /// The graph that the node runs, if it is a subgraph.
    pub(crate) subgraph: Option<Arc<Topology>>,
}

/// A deferred node, and the other deferred nodes that it may lead to.
#[derive(Clone, Debug)]
pub(crate) struct DeferredWires {
    pub(crate) node: NodeId,
    pub(crate) leads_to: Vec<NodeId>,
}

/// The cases of a route or a branch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decision {
    pub(crate) cases: Vec<CaseTargets>,
    /// The nodes that some payload of a case may lead to.
    pub(crate) may_reach: Vec<NodeId>,
    /// `true` if it is the decision of the node's error handler.
    pub(crate) on_error: bool,
}

/// The targets of one case.
#[derive(Clone, Debug)]
pub(crate) struct CaseTargets {
    pub(crate) case: String,
    /// The target nodes, each with `true` if it is reached by `each`; empty for END.
    pub(crate) targets: Vec<(NodeId, bool)>,
}

/// Several nodes that must all have run before another node runs.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) sources: Vec<NodeId>,
    pub(crate) target: NodeId,
}

impl Join {
    /// Returns `true` if it joins the same sources, in any order, into the same target.
    pub(crate) fn same_nodes(&self, other: &Self) -> bool {
        self.target == other.target
            && self.sources.len() == other.sources.len()
            && self.sources.iter().all(|source| other.sources.contains(source))
    }
}

impl Topology {
    /// Returns the graph's name.
    #[must_use]
    pub fn name(&self) -> &NodeName {
        &self.name
    }

    /// Returns the user's nodes, in the order of their registration.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &NodeName)> {
        let ids = (0..).map(NodeId);
        ids.zip(&self.nodes).map(|(id, node)| (id, &node.name)).filter(|(id, _)| *id > NodeId::END)
    }

    /// Returns the node with this name.
    #[must_use]
    pub fn find(&self, name: &NodeName) -> Option<NodeId> {
        let index = self.nodes.iter().position(|node| node.name == *name)?;
        u32::try_from(index).ok().map(NodeId)
    }

    /// Returns the name of a node.
    #[must_use]
    pub fn node_name(&self, node: NodeId) -> &NodeName {
        &self.node(node).name
    }

    pub(crate) fn node(&self, node: NodeId) -> &TopologyNode {
        &self.nodes[node.index()]
    }

    pub(crate) fn is_deferred(&self, node: NodeId) -> bool {
        self.deferred.iter().any(|deferred| deferred.node == node)
    }

    /// Returns `true` if a run of the deferred node `from` may lead to the deferred node `to`.
    pub(crate) fn deferred_leads(&self, from: NodeId, to: NodeId) -> bool {
        self.deferred.iter().any(|deferred| deferred.node == from && deferred.leads_to.contains(&to))
    }

    /// Sets which nodes are deferred, after all edges are added.
    pub(crate) fn defer(&mut self, nodes: &[NodeId]) {
        let wires = self.wires();
        let leads = nodes.iter().map(|&node| {
            let mut search = Dfs::new(&wires, NodeIndex::new(node.index()));
            let mut leads_to = Vec::new();
            while let Some(reached) = search.next(&wires) {
                let reached = wires[reached];
                if reached != node && nodes.contains(&reached) {
                    leads_to.push(reached);
                }
            }
            DeferredWires { node, leads_to }
        });
        self.deferred = leads.collect();
    }

    /// Returns the graph as a petgraph, with one edge per way in which a task of one node may lead to another.
    pub(crate) fn wires(&self) -> DiGraph<NodeId, Wire> {
        let mut graph = DiGraph::with_capacity(self.nodes.len(), self.nodes.len() * 2);
        for index in 0..self.nodes.len() {
            graph.add_node(NodeId(u32::try_from(index).expect("a graph has fewer than 2^32 nodes")));
        }
        let at = |node: NodeId| NodeIndex::new(node.index());
        for (index, node) in self.nodes.iter().enumerate() {
            let from = NodeIndex::new(index);
            for &target in &node.edges {
                graph.add_edge(from, at(target), Wire::Edge);
            }
            if node.ends {
                graph.add_edge(from, at(NodeId::END), Wire::Edge);
            }
            for decision in &node.decisions {
                for case in &decision.cases {
                    if decision.on_error {
                        let targets = case.targets.iter().map(|(target, _)| *target);
                        let end = case.targets.is_empty().then_some(NodeId::END);
                        for target in targets.chain(end) {
                            graph.add_edge(from, at(target), Wire::OnError(case.case.clone()));
                        }
                        continue;
                    }
                    if case.targets.is_empty() {
                        graph.add_edge(from, at(NodeId::END), Wire::Case(case.case.clone()));
                    }
                    for &(target, each) in &case.targets {
                        let name = case.case.clone();
                        graph.add_edge(
                            from,
                            at(target),
                            if each { Wire::Each(name) } else { Wire::Case(name) },
                        );
                    }
                }
                for &target in &decision.may_reach {
                    graph.add_edge(from, at(target), Wire::MayReach);
                }
            }
        }
        for (number, join) in self.joins.iter().enumerate() {
            for &source in &join.sources {
                graph.add_edge(at(source), at(join.target), Wire::Join(number));
            }
        }
        graph
    }

    /// The maximum number of levels of subgraphs. Each takes three levels of the description as JSON, which leaves
    /// sixteen for the edges and for the schemas of the questions.
    pub const MOST_LEVELS: usize = 32;

    /// Returns the number of levels of subgraphs.
    pub(crate) fn levels(&self) -> usize {
        let inner = self.nodes.iter().filter_map(|node| node.subgraph.as_ref());
        inner.map(|inner| 1 + inner.levels()).max().unwrap_or(0)
    }

    /// Returns the description of the topology by node names, which is stored with the checkpoints.
    pub(crate) fn describe(&self) -> Json {
        self.described().expect("a graph that was built can be described")
    }

    /// Returns the description of the topology by node names, or an error if it exceeds the size limits.
    pub(crate) fn described(&self) -> Result<Json, CodecError> {
        Json::encode(&self.text())
    }

    fn text(&self) -> TopologyText {
        let name = |node: NodeId| self.node_name(node).clone();
        let nodes = self.nodes.iter().zip((0..).map(NodeId)).map(|(node, id)| NodeText {
            name: node.name.clone(),
            defer: self.is_deferred(id),
            takes: node.takes.clone(),
            subgraph: node.subgraph.as_deref().map(Self::text),
            asks: AskText::all(&node.asks),
            handler_asks: AskText::all(&node.handler_asks),
            edges: node.edges.iter().copied().map(name).chain(node.ends.then(|| name(NodeId::END))).collect(),
            decisions: node
                .decisions
                .iter()
                .map(|decision| DecisionText {
                    cases: decision
                        .cases
                        .iter()
                        .map(|case| CaseText {
                            case: case.case.clone(),
                            to: case
                                .targets
                                .iter()
                                .filter(|(_, each)| !each)
                                .map(|(node, _)| name(*node))
                                .collect(),
                            each: case
                                .targets
                                .iter()
                                .filter(|(_, each)| *each)
                                .map(|(node, _)| name(*node))
                                .collect(),
                        })
                        .collect(),
                    may_reach: decision.may_reach.iter().copied().map(name).collect(),
                    on_error: decision.on_error,
                })
                .collect(),
        });
        let joins = self.joins.iter().map(|join| JoinText {
            sources: join.sources.iter().copied().map(name).collect(),
            target: name(join.target),
        });
        TopologyText { name: self.name.to_string(), nodes: nodes.collect(), joins: joins.collect() }
    }

    /// Returns a hash of the names and the edges.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.describe())
    }
}

/// One way from a node to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// An unconditional edge.
    Edge,
    /// This case of a route or branch.
    Case(String),
    /// This case of a route or branch, with one task per item.
    Each(String),
    /// This case of the decision of the node's error handler.
    OnError(String),
    /// A target declared with `may_reach`.
    MayReach,
    /// This join, together with its other sources.
    Join(usize),
}

#[derive(Serialize, Deserialize)]
pub(super) struct TopologyText {
    pub(super) name: String,
    pub(super) nodes: Vec<NodeText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) joins: Vec<JoinText>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct NodeText {
    pub(super) name: NodeName,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(super) defer: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) edges: Vec<NodeName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) decisions: Vec<DecisionText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) takes: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) asks: Vec<AskText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) handler_asks: Vec<AskText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subgraph: Option<TopologyText>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct AskText {
    pub(super) question: Json,
    pub(super) answer: Json,
}

impl AskText {
    fn all(asks: &[(Json, Json)]) -> Vec<Self> {
        asks.iter().cloned().map(|(question, answer)| Self { question, answer }).collect()
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct DecisionText {
    pub(super) cases: Vec<CaseText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) may_reach: Vec<NodeName>,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(super) on_error: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct CaseText {
    pub(super) case: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) to: Vec<NodeName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) each: Vec<NodeName>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct JoinText {
    pub(super) sources: Vec<NodeName>,
    pub(super) target: NodeName,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{END, NodeRef, START, StateGraph};
    use crate::node::{Ask, NoInput};
    use crate::state::State;

    #[derive(State, Clone, Debug, Default)]
    struct Nothing {}

    async fn asks(_: Ask<String, u32>) {}

    async fn quiet() {}

    /// Builds a graph of one node, with or without an error handler.
    fn one(handled: impl FnOnce(&mut StateGraph<Nothing>, NodeRef<NoInput, ()>)) -> Topology {
        let mut g = StateGraph::<Nothing>::new("g");
        let node = g.node("node", quiet);
        g.edge(START, node);
        g.edge(node, END);
        handled(&mut g, node);
        (*g.build().expect("the graph is sound").topology).clone()
    }

    #[test]
    fn what_an_error_handler_asks_is_stored_with_its_node() {
        let own = one(|g, node| {
            g.policy(node).on_error(asks);
        });
        let text: serde_json::Value = own.describe().decode().expect("it is JSON");
        let asks_of_handler = &text["nodes"][2]["handler_asks"];
        assert_eq!(asks_of_handler[0]["question"]["type"], "string");
        assert_eq!(asks_of_handler[0]["answer"]["type"], "integer");
        assert_eq!(text["nodes"][2].get("asks"), None, "the node itself asks nothing");
        let of_all = one(|g, _| g.on_error(asks));
        assert_eq!(of_all.fingerprint(), own.fingerprint());
    }

    /// Topologies that were stored without such handlers keep their fingerprints.
    #[test]
    fn a_handler_that_asks_nothing_leaves_the_topology_as_it_is() {
        let without = one(|_, _| {});
        let quiet = one(|g, node| {
            g.policy(node).on_error(quiet);
        });
        assert_eq!(without.fingerprint(), quiet.fingerprint());
        assert!(!without.describe().as_str().contains("handler_asks"), "{:?}", without.describe());
    }
}
