//! Breakpoints, at which a run stops at a barrier for inspection.

use alloc::vec::Vec;

use crate::graph::NodeId;

/// The breakpoints of a run: it stops at a barrier before these nodes run, and after those have run.
///
/// A resumed run ignores the breakpoints of the barrier at which it begins, so every resume passes a breakpoint,
/// whichever run stopped there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breakpoints {
    /// The nodes before which the run stops.
    pub before: NodeSet,
    /// The nodes after which the run stops.
    pub after: NodeSet,
}

/// Some nodes of a graph, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSet {
    /// These nodes.
    These(Vec<NodeId>),
    /// Every node except START.
    All,
}

/// The nodes whose breakpoints stopped a run at a barrier, each once, in merge order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Break {
    /// The nodes that are next.
    pub before: Vec<NodeId>,
    /// The nodes that ran.
    pub after: Vec<NodeId>,
}

impl Default for NodeSet {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

impl NodeSet {
    /// Adds a node.
    pub fn insert(&mut self, node: NodeId) {
        if let Self::These(nodes) = self
            && !nodes.contains(&node)
        {
            nodes.push(node);
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::These(nodes) if nodes.is_empty())
    }

    fn contains(&self, node: NodeId) -> bool {
        match self {
            Self::These(nodes) => nodes.contains(&node),
            Self::All => node != NodeId::START,
        }
    }

    fn hit(&self, nodes: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
        let mut hit = Vec::new();
        for node in nodes.filter(|node| self.contains(*node)) {
            if !hit.contains(&node) {
                hit.push(node);
            }
        }
        hit
    }
}

impl Breakpoints {
    /// Returns `true` if there are no breakpoints.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    /// Returns the breakpoints between the tasks that ran and those that are next; `None` if there are none.
    pub(super) fn between(
        &self,
        ran: impl Iterator<Item = NodeId>,
        next: impl Iterator<Item = NodeId>,
    ) -> Option<Break> {
        let hit = Break { before: self.before.hit(next), after: self.after.hit(ran) };
        (!hit.before.is_empty() || !hit.after.is_empty()).then_some(hit)
    }
}
