//! Planning: from what ran to what is next.

use alloc::vec;
use alloc::vec::Vec;

use super::task::PlannedTask;
use crate::checkpoint::Cause;
use crate::graph::{NodeId, Target, Topology};

/// Which sources of each join have arrived, by the join's position in the topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals(pub(crate) Vec<Vec<NodeId>>);

impl Arrivals {
    /// No join of `topology` has seen a source.
    #[must_use]
    pub fn none(topology: &Topology) -> Self {
        Self(vec![Vec::new(); topology.joins.len()])
    }

    /// The joins that wait for more sources.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (usize, &[NodeId])> {
        self.0
            .iter()
            .enumerate()
            .filter(|(_, arrived)| !arrived.is_empty())
            .map(|(join, arrived)| (join, &**arrived))
    }
}

/// Plans supersteps. Keeps its working memory between them, so that a step costs what it plans and not what
/// the graph holds.
#[derive(Debug)]
pub(super) struct Planner {
    /// For each node, its position in the plan under construction, plus one.
    planned: Vec<u32>,
}

/// A finished task: its node, and where its decisions send it.
pub(super) struct Ran {
    pub(super) node: NodeId,
    pub(super) targets: Vec<Target>,
}

impl Planner {
    pub(super) fn new(topology: &Topology) -> Self {
        Self {
            planned: vec![0; topology.nodes.len()],
        }
    }

    /// The next superstep's tasks, in merge order: one per node that anything leads to, by name as plain
    /// strings; then one per item of `each`, by producing task, then by index.
    pub(super) fn plan(
        &mut self,
        topology: &Topology,
        ran: Vec<Ran>,
        joins: &mut Arrivals,
    ) -> Vec<PlannedTask> {
        let mut nodes: Vec<PlannedTask> = Vec::new();
        let mut items: Vec<PlannedTask> = Vec::new();
        for (by, task) in (0u32..).zip(ran) {
            let node = topology.node(task.node);
            for &edge in &node.edges {
                self.add(&mut nodes, edge, by);
            }
            let mut index = 0;
            for target in task.targets {
                match target.items {
                    None => self.add(&mut nodes, NodeId(target.node), by),
                    Some(sent) => items.extend(sent.into_iter().map(|item| {
                        let cause = Cause::Each { by, index };
                        index += 1;
                        PlannedTask {
                            node: NodeId(target.node),
                            cause,
                            input: Some(item),
                        }
                    })),
                }
            }
            for &join in &node.joins {
                let arrived = &mut joins.0[join];
                if !arrived.contains(&task.node) {
                    arrived.push(task.node);
                }
                if arrived.len() == topology.joins[join].sources.len() {
                    arrived.clear();
                    self.complete(&mut nodes, topology.joins[join].target, by);
                }
            }
        }
        for task in &nodes {
            self.planned[task.node.index()] = 0;
        }
        if nodes.len() > 1 {
            nodes.sort_by_key(|task| topology.node(task.node).rank);
        }
        nodes.append(&mut items);
        nodes
    }

    fn add(&mut self, nodes: &mut Vec<PlannedTask>, node: NodeId, by: u32) {
        match self.position(node) {
            None => self.push(nodes, node, Cause::Tasks(vec![by])),
            Some(position) => match &mut nodes[position].cause {
                Cause::Tasks(tasks) | Cause::Join(tasks) if tasks.last() != Some(&by) => tasks.push(by),
                _ => {}
            },
        }
    }

    fn complete(&mut self, nodes: &mut Vec<PlannedTask>, node: NodeId, by: u32) {
        match self.position(node) {
            None => self.push(nodes, node, Cause::Join(vec![by])),
            Some(_) => self.add(nodes, node, by),
        }
    }

    fn position(&self, node: NodeId) -> Option<usize> {
        (self.planned[node.index()] as usize).checked_sub(1)
    }

    fn push(&mut self, nodes: &mut Vec<PlannedTask>, node: NodeId, cause: Cause) {
        nodes.push(PlannedTask {
            node,
            cause,
            input: None,
        });
        self.planned[node.index()] =
            u32::try_from(nodes.len()).expect("a superstep has fewer than 2^32 tasks");
    }
}
