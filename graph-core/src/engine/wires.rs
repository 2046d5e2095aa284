//! Topologies for tests, built from names.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::graph::{Join, NodeId, Topology, TopologyNode};
use crate::id::NodeName;

/// A topology under construction, with START and END.
pub(super) struct Wires(Topology);

impl Wires {
    pub(super) fn build(nodes: &[&str], edges: &[(&str, &str)], joins: &[(&[&str], &str)]) -> Arc<Topology> {
        let names: Vec<&str> = ["__start__", "__end__"].iter().chain(nodes).copied().collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        let rank = |name: &str| sorted.iter().position(|other| *other == name).expect("a name");
        let node = |name: &&str| TopologyNode {
            name: NodeName::from(*name),
            rank: u32::try_from(rank(name)).expect("a few nodes"),
            edges: Vec::new(),
            ends: false,
            joins: Vec::new(),
            decisions: Vec::new(),
            takes: None,
            asks: Vec::new(),
            handler_asks: Vec::new(),
            subgraph: None,
        };
        let mut wires = Self(Topology {
            name: "wires".into(),
            nodes: names.iter().map(node).collect(),
            joins: Vec::new(),
            deferred: Vec::new(),
        });
        for (from, target) in edges {
            let (from, target) = (wires.id(from), wires.id(target));
            wires.0.nodes[from.index()].edges.push(target);
        }
        for (number, (sources, target)) in joins.iter().enumerate() {
            let sources: Vec<NodeId> = sources.iter().map(|source| wires.id(source)).collect();
            for source in &sources {
                wires.0.nodes[source.index()].joins.push(number);
            }
            let target = wires.id(target);
            wires.0.joins.push(Join { sources, target });
        }
        Arc::new(wires.0)
    }

    /// Returns the same topology with these nodes deferred.
    pub(super) fn deferring(wires: &Topology, nodes: &[&str]) -> Arc<Topology> {
        let mut wires = wires.clone();
        let nodes: Vec<NodeId> = nodes.iter().map(|node| id(&wires, node)).collect();
        wires.defer(&nodes);
        Arc::new(wires)
    }

    fn id(&self, name: &str) -> NodeId {
        id(&self.0, name)
    }
}

/// Returns the node with this name.
pub(super) fn id(topology: &Topology, name: &str) -> NodeId {
    match name {
        "START" => NodeId::START,
        _ => topology.find(&name.into()).expect("a node of the wiring"),
    }
}
