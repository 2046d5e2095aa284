//! Planning: computes the next tasks from those that ran.

use alloc::vec;
use alloc::vec::Vec;

use smallvec::smallvec;

use super::defer::Deferred;
use super::task::{Entry, PlannedTask};
use crate::checkpoint::{Cause, Positions};
use crate::graph::{Join, NodeId, Topology};

/// The work that earlier supersteps led to and that has not run yet: joins that wait for more sources, and deferred
/// nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// The sources of each join that have arrived, by the join's position in the topology.
    pub(crate) joins: Vec<Vec<NodeId>>,
    /// The nodes that wait until nothing else is left to run.
    pub(crate) deferred: Deferred,
}

impl Arrivals {
    /// Returns the arrivals of a new thread: no join has seen a source, and nothing is deferred.
    #[must_use]
    pub fn none(topology: &Topology) -> Self {
        Self { joins: vec![Vec::new(); topology.joins.len()], deferred: Deferred::default() }
    }

    fn arrive(&mut self, join: usize, source: NodeId) {
        let arrived = &mut self.joins[join];
        if !arrived.contains(&source) {
            arrived.push(source);
        }
    }

    /// Undoes the last run of `source`: joins that it completed then wait for it alone.
    pub(crate) fn take_back(&mut self, topology: &Topology, source: NodeId) {
        for &join in &topology.node(source).joins {
            let arrived = &mut self.joins[join];
            if !arrived.contains(&source) {
                let sources = topology.joins[join].sources.iter().copied();
                *arrived = sources.filter(|other| *other != source).collect();
            }
        }
    }

    /// Returns `true` if all sources of `join` have arrived, and resets the join, so that it waits for all of them
    /// again.
    fn complete(&mut self, join: usize, sources: usize) -> bool {
        let complete = self.joins[join].len() == sources;
        if complete {
            self.joins[join].clear();
        }
        complete
    }

    /// Returns the joins that wait for more sources.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (usize, &[NodeId])> {
        self.joins
            .iter()
            .enumerate()
            .filter(|(_, arrived)| !arrived.is_empty())
            .map(|(join, arrived)| (join, &**arrived))
    }
}

/// Plans supersteps. It keeps its working memory between them, so that the cost of a step depends on the planned
/// tasks and not on the size of the graph.
#[derive(Debug)]
pub(super) struct Planner {
    /// For each node, its position in the plan under construction, plus one.
    planned: Vec<u32>,
    /// `true` if the graph has deferred nodes.
    defers: bool,
}

impl Planner {
    pub(super) fn new(topology: &Topology) -> Self {
        Self { planned: vec![0; topology.nodes.len()], defers: !topology.deferred.is_empty() }
    }

    /// Plans the next superstep's tasks into `nodes`, in merge order. First comes one task per node that anything
    /// leads to, sorted by name as plain strings; then one task per item of `each`, sorted by the sending task and
    /// the index. Deferred nodes wait in `joins` until there are no other tasks.
    pub(super) fn plan(
        &mut self,
        topology: &Topology,
        ran: &mut [Entry],
        joins: &mut Arrivals,
        nodes: &mut Vec<Entry>,
    ) {
        let mut items: Vec<Entry> = Vec::new();
        let mut arrivals: Vec<(usize, Positions)> = Vec::new();
        let mut exit: Option<Entry> = None;
        for (by, entry) in (0u32..).zip(&mut *ran) {
            let source = entry.planned.node;
            let targets = entry.take_targets();
            let node = topology.node(source);
            // The targets of an error handler with its own route replaced the node's edges and joins.
            let (edges, waiting) =
                if targets.is_instead() { (&[][..], &[][..]) } else { (&*node.edges, &*node.joins) };
            for &edge in edges {
                self.add(nodes, edge, by, Cause::Tasks);
            }
            let mut index = 0;
            targets.for_each(|target| match target.items {
                None => self.add(nodes, NodeId(target.node), by, Cause::Tasks),
                Some(sent) if target.node == NodeId::END.0 => {
                    let cause = Cause::Each { by, index };
                    let input = sent.into_iter().next();
                    let left = PlannedTask { node: NodeId::END, cause, input };
                    exit.get_or_insert(Entry::waiting(left));
                }
                Some(sent) => items.extend(sent.into_iter().map(|item| {
                    let cause = Cause::Each { by, index };
                    index += 1;
                    Entry::waiting(PlannedTask { node: NodeId(target.node), cause, input: Some(item) })
                })),
            });
            for &join in waiting {
                joins.arrive(join, source);
                match arrivals.iter_mut().find(|(arrived, _)| *arrived == join) {
                    Some((_, tasks)) => tasks.push(by),
                    None => arrivals.push((join, smallvec![by])),
                }
            }
        }
        // This happens last, so that a source which ran as several tasks arrives once, and not again after the join
        // was completed.
        for (join, tasks) in &arrivals {
            let Join { sources, target } = &topology.joins[*join];
            if joins.complete(*join, sources.len()) {
                for &by in tasks {
                    self.add(nodes, *target, by, Cause::Join);
                }
            }
        }
        for entry in nodes.iter() {
            self.planned[entry.planned.node.index()] = 0;
        }
        if self.defers {
            joins.deferred.hold(topology, ran, nodes);
            if nodes.is_empty() && items.is_empty() {
                joins.deferred.release(topology, nodes);
            }
        }
        if nodes.len() > 1 {
            nodes.sort_by_key(|entry| topology.node(entry.planned.node).rank);
        }
        nodes.append(&mut items);
        // A task that takes an exit discards all other targets.
        if exit.is_some() {
            nodes.clear();
            nodes.extend(exit);
        }
    }

    /// Plans `node` because of task `by`. `why` creates the cause for a node that nothing led to yet.
    fn add(&mut self, nodes: &mut Vec<Entry>, node: NodeId, by: u32, why: fn(Positions) -> Cause) {
        let planned = &mut self.planned[node.index()];
        let Some(position) = (*planned as usize).checked_sub(1) else {
            let cause = why(smallvec![by]);
            nodes.push(Entry::waiting(PlannedTask { node, cause, input: None }));
            *planned = u32::try_from(nodes.len()).expect("a superstep has fewer than 2^32 tasks");
            return;
        };
        match &mut nodes[position].planned.cause {
            Cause::Tasks(tasks) | Cause::Join(tasks) if !tasks.contains(&by) => tasks.push(by),
            _ => {}
        }
    }
}
