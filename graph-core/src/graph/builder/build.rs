//! The end of a graph's construction: its topology, the checks, and the program.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::{StateGraph, index};
use crate::checkpoint::GraphDescription;
use crate::graph::check::{self, BuildError, Problem};
use crate::graph::handle::END_INDEX;
use crate::graph::program::Program;
use crate::graph::topology::{NodeId, Topology, TopologyNode};
use crate::node::short_type_name;
use crate::state::{FieldId, State};

impl<S: State, C: Send + Sync + 'static> StateGraph<S, C> {
    /// Checks the graph and freezes it.
    ///
    /// # Errors
    /// Returns all problems of the graph.
    pub fn build(mut self) -> Result<Program, BuildError> {
        self.settle_handlers();
        let topology = self.topology();
        for (draft, position) in self.nodes.iter().zip(0u32..) {
            let routed = draft.program.router.is_some();
            if draft.decides && !routed {
                self.problems.push(Problem::Unrouted { node: topology.node_name(NodeId(position)).clone() });
            }
        }
        let mut problems = core::mem::take(&mut self.problems);
        check::topology(&topology, &self.nodes_writes(), &self.schema, &mut problems);
        if problems.is_empty()
            && let Err(error) = topology.described()
        {
            problems.push(Problem::Indescribable { reason: error.to_string() });
        }
        if !problems.is_empty() {
            return Err(BuildError { graph: self.name, problems });
        }
        let description = GraphDescription {
            name: self.name.to_string(),
            schema: self.schema.clone(),
            topology: topology.describe(),
            topology_fingerprint: topology.fingerprint(),
        };
        let nodes = self.nodes.into_iter().map(|draft| draft.program).collect();
        Ok(Program {
            graph: self.graph,
            names: topology.nodes.iter().map(|node| node.name.clone()).collect(),
            topology: Arc::new(topology),
            nodes,
            schema_fingerprint: self.schema.fingerprint(),
            schema: Arc::new(self.schema),
            initial: Arc::new(self.initial),
            description,
            exit: self.exit,
        })
    }

    fn nodes_writes(&self) -> Vec<&[FieldId]> {
        self.nodes.iter().map(|draft| draft.program.description.writes.as_slice()).collect()
    }

    fn topology(&self) -> Topology {
        let mut by_name: Vec<usize> = (0..self.nodes.len()).collect();
        by_name.sort_by(|a, b| self.nodes[*a].name.cmp(&self.nodes[*b].name));
        let mut ranks = vec![0; self.nodes.len()];
        for (rank, node) in by_name.into_iter().enumerate() {
            ranks[node] = index(rank);
        }
        let nodes = self.nodes.iter().enumerate().map(|(position, draft)| TopologyNode {
            name: draft.name.clone(),
            rank: ranks[position],
            edges: draft.edges.iter().filter(|edge| **edge != END_INDEX).copied().map(NodeId).collect(),
            ends: draft.edges.contains(&END_INDEX),
            joins: (0..self.joins.len())
                .filter(|join| self.joins[*join].sources.contains(&NodeId(index(position))))
                .collect(),
            decisions: draft.decisions.clone(),
            takes: draft.program.description.input.map(|input| short_type_name(input.type_name)),
            subgraph: draft.program.subgraph.as_ref().map(|program| Arc::clone(&program.topology)),
            asks: draft.program.description.schemas(),
            handler_asks: draft
                .program
                .handler
                .as_ref()
                .map_or_else(Vec::new, |handler| handler.description.schemas()),
        });
        let mut topology = Topology {
            name: self.name.clone(),
            nodes: nodes.collect(),
            joins: self.joins.clone(),
            deferred: Vec::new(),
        };
        let deferred = (0u32..).zip(&self.nodes).filter(|(_, draft)| draft.program.policy.deferred);
        topology.defer(&deferred.map(|(position, _)| NodeId(position)).collect::<Vec<_>>());
        topology
    }
}
