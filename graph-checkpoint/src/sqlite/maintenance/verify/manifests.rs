//! Checks the manifests of checkpoints: nodes, writes, and subgraphs that keep their state.

use std::cell::RefCell;
use std::collections::HashSet;

use superstep_core::id::NodeName;
use superstep_core::state::Change;

use super::checkpoints::Referred;
use super::{Check, problem};
use crate::history::decode::{self, Decoded};
use crate::sqlite::history::rows::CheckpointRow;

impl Check<'_> {
    /// Checks the manifest of the checkpoint at `seq`: that it can be decoded, that its writes refer to existing
    /// operations, that its nodes are in its graph, and that the checkpoints of its kept subgraphs exist.
    pub(super) fn manifest(&mut self, seq: i64, changes: Vec<Change>, manifest: &str) {
        let bodies = Referred { there: &self.known.bodies, used: RefCell::new(&mut self.used) };
        let decoded = match decode::decode(changes, manifest, &bodies) {
            Ok(decoded) => decoded,
            Err(error) => return self.found("checkpoint", seq, seq, problem(error)),
        };
        let topology = self.known.checkpoints[&seq].topology;
        let mut strange = HashSet::new();
        if let Some(nodes) = self.known.topologies.get(&topology) {
            let is_known = |node: &&NodeName| {
                node.is_start() || node.is_end() || node.as_str() == "__edit__" || nodes.contains(*node)
            };
            strange.extend(named(&decoded).filter(|node| !is_known(node)).cloned());
        }
        let mut strange: Vec<NodeName> = strange.into_iter().collect();
        strange.sort_unstable();
        for node in strange {
            self.found("checkpoint", seq, seq, format_args!("its graph has no node {node}"));
        }
        for kept in &decoded.frontier.kept {
            if !matches!(CheckpointRow::seq_of(self.connection, kept.checkpoint), Ok(Some(_))) {
                let lack = format!(
                    "checkpoint {}, from which subgraph {} continues, is missing or damaged",
                    kept.checkpoint, kept.key
                );
                self.found("checkpoint", seq, seq, lack);
            }
        }
    }
}

/// Returns the nodes that a manifest names.
fn named(decoded: &Decoded) -> impl Iterator<Item = &NodeName> {
    let tasks = decoded.tasks.iter().flat_map(|task| [&task.node].into_iter().chain(&task.targets));
    let next = decoded.frontier.tasks.iter().map(|task| &task.node);
    let joins =
        decoded.frontier.joins.iter().flat_map(|join| [&join.target].into_iter().chain(&join.sources));
    let deferred = decoded.frontier.deferred.iter().map(|deferred| &deferred.node);
    tasks.chain(next).chain(joins).chain(deferred)
}
