//! Conversion of a stored frontier to planned tasks, and back.

use alloc::string::String;
use alloc::vec::Vec;

use super::plan::Arrivals;
use super::task::PlannedTask;
use crate::checkpoint::{DeferredNode, Frontier, JoinProgress, NextTask};
use crate::graph::{NodeId, Topology};
use crate::id::NodeName;
use crate::node::Item;
use crate::state::{CodecError, Json};

/// The reason why a stored frontier does not fit the graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A pending node no longer exists. Restore it, or give the thread a new input.
    #[error(
        "the checkpoint's next node {node:?} does not exist in graph {graph:?}; it was removed or renamed"
    )]
    MissingNode {
        /// The node.
        node: NodeName,
        /// The graph.
        graph: NodeName,
    },
    /// A waiting join no longer exists.
    #[error("the checkpoint waits for a join into {target:?} that does not exist in graph {graph:?}")]
    MissingJoin {
        /// The joined node.
        target: NodeName,
        /// The graph.
        graph: NodeName,
    },
    /// The item of a pending task does not decode.
    #[error("the input of the checkpoint's next node {node:?} does not decode: {reason}")]
    Input {
        /// The node.
        node: NodeName,
        /// The reason.
        reason: String,
    },
}

/// Finds the nodes of a stored frontier. `decode` decodes the item of a node's task.
///
/// # Errors
/// Returns an error if a node or a join no longer exists, or an item does not decode.
pub fn restore(
    topology: &Topology,
    frontier: &Frontier,
    decode: impl Fn(NodeId, &Json) -> Result<Item, CodecError>,
) -> Result<(Vec<PlannedTask>, Arrivals), RestoreError> {
    let mut tasks = Vec::with_capacity(frontier.tasks.len());
    for NextTask { node: name, cause, input } in &frontier.tasks {
        let node = find(topology, name)?;
        let input = match input {
            // The driver applies the input of a run; it is not an item.
            Some(_) if node == NodeId::START => None,
            Some(input) => Some(decode(node, input).map_err(|error| RestoreError::Input {
                node: name.clone(),
                reason: alloc::format!("{error}"),
            })?),
            None => None,
        };
        tasks.push(PlannedTask { node, cause: cause.clone(), input });
    }
    let mut arrivals = Arrivals::none(topology);
    for JoinProgress { target, sources, arrived } in &frontier.joins {
        let missing = || RestoreError::MissingJoin { target: target.clone(), graph: topology.name.clone() };
        let target = find(topology, target)?;
        let sources = sources.iter().map(|source| find(topology, source)).collect::<Result<Vec<_>, _>>()?;
        let join = topology.joins.iter().position(|join| join.target == target && join.sources == sources);
        let join = join.ok_or_else(missing)?;
        arrivals.joins[join] =
            arrived.iter().map(|source| find(topology, source)).collect::<Result<_, _>>()?;
    }
    for DeferredNode { node, by } in &frontier.deferred {
        arrivals.deferred.add(find(topology, node)?, by.iter().cloned());
    }
    Ok((tasks, arrivals))
}

/// Returns the stored form of the next tasks.
///
/// # Errors
/// Returns an error if an item has no JSON form.
pub fn store<'t>(
    topology: &Topology,
    next: impl ExactSizeIterator<Item = &'t PlannedTask>,
    arrivals: &Arrivals,
) -> Result<Frontier, CodecError> {
    let name = |node: NodeId| topology.node_name(node).clone();
    let mut tasks = Vec::with_capacity(next.len());
    for task in next {
        let input = task.input.as_ref().map(Item::encode).transpose()?;
        tasks.push(NextTask { node: name(task.node), cause: task.cause.clone(), input });
    }
    let joins = arrivals.waiting().map(|(join, arrived)| JoinProgress {
        target: name(topology.joins[join].target),
        sources: topology.joins[join].sources.iter().copied().map(name).collect(),
        arrived: arrived.iter().copied().map(name).collect(),
    });
    let deferred = arrivals.deferred.iter();
    let deferred = deferred.map(|held| DeferredNode { node: name(held.node), by: held.by.clone() });
    Ok(Frontier { tasks, joins: joins.collect(), deferred: deferred.collect(), kept: Vec::new() })
}

/// Finds a node by its stored name.
///
/// # Errors
/// Returns [`RestoreError::MissingNode`] if the graph no longer has the node.
pub fn find(topology: &Topology, name: &NodeName) -> Result<NodeId, RestoreError> {
    topology
        .find(name)
        .ok_or_else(|| RestoreError::MissingNode { node: name.clone(), graph: topology.name.clone() })
}

#[cfg(test)]
mod tests;
