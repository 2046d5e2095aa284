//! Edits as a node, planned from the stored graph.

use std::sync::Arc;

use superstep_core::checkpoint::{
    At, Carried, Carrier, Checkpoint, Loaded, NextTask, Onto, TaskRecord, TaskResult,
};
use superstep_core::engine::{CannotEditAs, EditAs, Edited, edit_as};
use superstep_core::graph::Topology;
use superstep_core::id::{NodeName, ThreadId};
use superstep_core::state::Json;

use crate::failure::Failure;
use crate::lines::called;
use crate::source::{CheckpointRef, Source};

/// The number of checkpoints to read at once when looking for the last superstep.
const PAGE: usize = 16;

/// Returns the tasks that led to the next tasks of a checkpoint: those of the last superstep before any edits.
pub(super) fn last_ran(source: &Source, place: &CheckpointRef) -> Result<Vec<TaskRecord>, Failure> {
    let mut from = place.at();
    loop {
        let page = source.reader.steps(&place.thread, &from, PAGE)?;
        let parent = page.last().and_then(|oldest| oldest.checkpoint.parent);
        let is_edit = |task: &TaskRecord| task.node.is_edit();
        if let Some(found) = page.into_iter().find(|step| !step.checkpoint.tasks.iter().any(is_edit)) {
            return Ok(found.checkpoint.tasks);
        }
        match parent {
            Some(parent) => from = At::Id(parent),
            None => return Ok(Vec::new()),
        }
    }
}

/// A checkpoint after the run of a node, with the work carried over.
pub(super) struct AsNode {
    pub(super) checkpoint: Checkpoint,
    pub(super) carried: Carried,
    /// `true` if its writes wait for other tasks of the superstep.
    pub(super) pending: bool,
}

/// Edits a checkpoint as a node. `edited` is the checkpoint of a plain edit, without writes.
pub(super) fn edit(
    thread: &ThreadId,
    loaded: &Loaded,
    stored: &Json,
    onto: &dyn Onto,
    ran: &[TaskRecord],
    edited: Checkpoint,
    node: EditAs,
) -> Result<AsNode, Failure> {
    let topology = Arc::new(Topology::from_json(stored).map_err(Failure::damaged)?);
    let result = edit_as(&topology, loaded, ran, node).map_err(refused)?;
    let next = &loaded.checkpoint.frontier.tasks;
    let mut carrier = Carrier::new(thread, loaded, onto);
    match result {
        Edited::Task { position, record, targets } => {
            for (at, next) in next.iter().enumerate() {
                let task = next.id(edited.id, edited.step);
                if at != position {
                    carrier.carry(next, task);
                    continue;
                }
                let TaskRecord { node, writes, route, .. } = &record;
                carrier.carried.results.push(TaskResult {
                    task,
                    node: node.clone(),
                    writes: writes.clone(),
                    route: route.clone(),
                    targets: Some(targets.clone()),
                    kept: None,
                    handled: None,
                    emitted: None,
                });
            }
            Ok(AsNode { checkpoint: edited, carried: carrier.carried, pending: true })
        }
        Edited::Superstep { tasks, changes, frontier, added } => {
            for after in frontier.tasks.iter().filter(|_| added) {
                let same = |before: &&NextTask| {
                    before.node == after.node
                        && before.cause.each() == after.cause.each()
                        && before.input == after.input
                };
                if let Some(before) = next.iter().find(same) {
                    carrier.carry(before, after.id(edited.id, edited.step));
                }
            }
            let checkpoint = Checkpoint { tasks, changes, frontier, ..edited };
            Ok(AsNode { checkpoint, carried: carrier.carried, pending: false })
        }
    }
}

fn refused(error: CannotEditAs) -> Failure {
    match error {
        // Names that `log` and `why` list besides the nodes.
        CannotEditAs::NoSuchNode { node, nodes } if ["START", "END", "EDIT"].contains(&called(&node)) => {
            let nodes: Vec<&str> = nodes.iter().map(NodeName::as_str).collect();
            Failure::unusable(format!(
                "there is no edit as {}: it is not a node; the graph's nodes are {}",
                called(&node),
                nodes.join(", ")
            ))
        }
        CannotEditAs::NoSuchNode { .. } | CannotEditAs::NoSuchCase { .. } => {
            Failure::nothing(error.to_string())
        }
        CannotEditAs::Undecided { .. } => Failure::unusable(format!("{error}, with --case")),
        CannotEditAs::NeedsCode(_) => {
            Failure::unusable(format!("{error}; `thread.edit_as` does it from there"))
        }
        other => Failure::unusable(other.to_string()),
    }
}
