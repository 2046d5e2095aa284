//! Breakpoints that users set.

use std::vec::Vec;

use super::shared::Runtime;
use super::thread_error::ThreadError;
use crate::engine::{Breakpoints, NodeSet};
use crate::graph::{NodeId, Program, Selected};

/// The breakpoints of one run, in addition to those of the nodes' policies.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) before: Vec<Selected>,
    pub(crate) after: Vec<Selected>,
}

impl Program {
    /// Returns the breakpoints of the nodes' policies.
    pub(crate) fn breakpoints(&self) -> Breakpoints {
        let mut declared = Breakpoints::default();
        for (node, _) in self.topology.nodes() {
            let policy = &self.node(node).policy;
            if policy.interrupt_before {
                declared.before.insert(node);
            }
            if policy.interrupt_after {
                declared.after.insert(node);
            }
        }
        declared
    }
}

impl Runtime {
    /// Returns the breakpoints of a run.
    pub(crate) fn breakpoints(&self, wanted: &Wanted) -> Result<Breakpoints, ThreadError> {
        let mut all = self.breakpoints.clone();
        for (set, selected) in [(&mut all.before, &wanted.before), (&mut all.after, &wanted.after)] {
            for selected in selected {
                match self.selected(selected)? {
                    Some(node) => set.insert(node),
                    None => *set = NodeSet::All,
                }
            }
        }
        Ok(all)
    }

    /// Returns the selected node; `None` for every node.
    pub(crate) fn selected(&self, selected: &Selected) -> Result<Option<NodeId>, ThreadError> {
        let topology = &self.program.topology;
        match selected {
            Selected::Every => Ok(None),
            Selected::Handle { graph, node } if self.program.is_own(*graph) => Ok(Some(NodeId(*node))),
            Selected::Handle { .. } => Err(ThreadError::foreign_handle(topology)),
            Selected::Named(name) => {
                topology.find(name).map(Some).ok_or_else(|| ThreadError::no_such_node(topology, name))
            }
        }
    }
}
