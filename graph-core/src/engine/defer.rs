//! Deferred nodes, which wait until nothing else is left to run.

use alloc::vec::Vec;

use super::task::{Entry, PlannedTask};
use crate::checkpoint::Cause;
use crate::graph::{NodeId, Topology};
use crate::id::NodeName;

/// The deferred nodes that other nodes led to, each once, in the order in which that first happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deferred(Vec<Held>);

/// A deferred node that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) node: NodeId,
    /// The nodes that led to it, in any superstep.
    pub(crate) by: Vec<NodeName>,
}

impl Deferred {
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Held> {
        self.0.iter()
    }

    /// Adds a node that `by` led to.
    pub(crate) fn add(&mut self, node: NodeId, by: impl Iterator<Item = NodeName>) {
        let at = match self.0.iter().position(|held| held.node == node) {
            Some(at) => at,
            None => {
                self.0.push(Held { node, by: Vec::new() });
                self.0.len() - 1
            }
        };
        let held = &mut self.0[at].by;
        for name in by {
            if !held.contains(&name) {
                held.push(name);
            }
        }
    }

    /// Moves the deferred nodes of `plan` to the waiting ones. The plan follows from the tasks in `ran`.
    pub(super) fn hold(&mut self, topology: &Topology, ran: &[Entry], plan: &mut Vec<Entry>) {
        plan.retain(|entry| {
            let PlannedTask { node, cause, .. } = &entry.planned;
            if !topology.is_deferred(*node) {
                return true;
            }
            let by: &[u32] = match cause {
                Cause::Tasks(by) | Cause::Join(by) => by,
                Cause::Input | Cause::Each { .. } | Cause::Deferred(_) => &[],
            };
            self.add(
                *node,
                by.iter().map(|task| topology.node_name(ran[*task as usize].planned.node).clone()),
            );
            false
        });
    }

    /// Plans the waiting nodes to which no other waiting node leads, so that a node which comes after several of
    /// them runs once and after all of them. Nodes that lead to each other run together.
    pub(super) fn release(&mut self, topology: &Topology, plan: &mut Vec<Entry>) {
        let waiting: Vec<NodeId> = self.0.iter().map(|held| held.node).collect();
        let waits_for_another = |node: NodeId| {
            let mut others = waiting.iter().filter(|other| **other != node);
            others.any(|&other| topology.deferred_leads(other, node) && !topology.deferred_leads(node, other))
        };
        for Held { node, by } in self.0.extract_if(.., |held| !waits_for_another(held.node)) {
            plan.push(Entry::waiting(PlannedTask { node, cause: Cause::Deferred(by), input: None }));
        }
    }
}
