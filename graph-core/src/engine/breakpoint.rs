//! Breakpoints: where a run stops at a barrier though nothing is wrong.

use alloc::vec::Vec;

use crate::graph::NodeId;

/// Where a run stops at a barrier so that somebody can look: before nodes that are next, and after nodes that
/// ran.
///
/// A run that resumes does not look at the breakpoints of the barrier that it begins at: so each is passed by
/// a resume, whoever stopped there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breakpoints {
    /// Before these run.
    pub before: NodeSet,
    /// After these have run.
    pub after: NodeSet,
}

/// Some nodes of a graph, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSet {
    /// These.
    These(Vec<NodeId>),
    /// Every node; START is none.
    All,
}

/// The nodes because of which a run stopped at a barrier, each once, in merge order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Break {
    /// Nodes that are next.
    pub before: Vec<NodeId>,
    /// Nodes that ran.
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
