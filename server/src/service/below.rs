//! States of subgraphs.

use serde_json::Value;
use superstep_core::checkpoint::{At, CheckpointerExt};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::run::{AnyGraph, CheckpointView, ThreadError};

use super::branches::Branches;
use super::shown::{self, Successors};
use crate::wire::Failure;
use crate::wire::ids;
use crate::wire::state::{self, Place};

/// The number of checkpoints that are read at once.
const PAGE: usize = 64;

/// A subgraph that a request names.
pub(super) struct Below<'g> {
    graph: &'g AnyGraph,
    root: ThreadId,
    nodes: Vec<NodeName>,
    thread: ThreadId,
    place: Place,
}

impl<'g> Below<'g> {
    /// Finds the subgraph with this namespace.
    pub(super) async fn find(
        graph: &'g AnyGraph,
        root: &ThreadId,
        namespace: &str,
    ) -> Result<Below<'g>, Failure> {
        let unknown = || Failure::not_found(format!("there is no subgraph {namespace:?}"));
        let root = root.clone();
        let mut below =
            Self { graph, thread: root.clone(), root, nodes: Vec::new(), place: Place::default() };
        let segments = namespace.split('|').filter(|segment| !segment.is_empty());
        let mut is_known = true;
        for (segment, task) in segments.zip(ids::tasks_of(namespace)) {
            let node: NodeName = segment.split(':').next().unwrap_or(segment).into();
            let above = if is_known { below.above(&node, &task).await? } else { None };
            match above.as_ref().map(|view| (view, view.tasks.iter().find(|next| next.id == task))) {
                Some((view, Some(next))) => below.place = below.place.below(view, next),
                _ => is_known = false,
            }
            below.nodes.push(node);
            below.thread = below.thread.below(task.parse().map_err(|_| unknown())?);
        }
        // A subgraph outlives the checkpoints above it that were pruned.
        namespace.clone_into(&mut below.place.namespace);
        Ok(below)
    }

    /// Returns the checkpoint of this subgraph, or of the graph itself, for which the task is next.
    async fn above(&self, node: &NodeName, task: &str) -> Result<Option<CheckpointView>, Failure> {
        let saver = self.graph.saver().ok_or(ThreadError::NoCheckpointer)?;
        let runs = |view: &CheckpointView| view.tasks.iter().any(|next| next.id == task);
        if self.nodes.is_empty() {
            let thread = self.graph.thread(self.root.clone());
            let mut branches = Branches::new(saver, &self.root);
            while let Some(summary) = branches.next().await? {
                if summary.next.contains(node)
                    && let Some(shown) =
                        shown::past(self.graph, &thread, &thread.at(summary.id).await?).await?
                    && runs(&shown.view)
                {
                    return Ok(Some(shown.view));
                }
            }
            return Ok(None);
        }
        let mut from = Some(At::Head);
        while let Some(at) = from.take() {
            let page = saver.history(&self.thread, at, PAGE).await?;
            from = page.last().and_then(|last| last.parent).map(At::Id);
            for summary in page.iter().filter(|summary| summary.next.contains(node)) {
                if let Some(view) = self.view(At::Id(summary.id)).await?.filter(&runs) {
                    return Ok(Some(view));
                }
            }
        }
        Ok(None)
    }

    async fn view(&self, at: At) -> Result<Option<CheckpointView>, ThreadError> {
        self.graph.thread(self.root.clone()).view_below(&self.nodes, &self.thread, at).await
    }

    /// Returns a state of the subgraph as JSON: the one at this checkpoint, or the latest.
    pub(super) async fn state(&self, at: Option<CheckpointId>) -> Result<Value, Failure> {
        let view = self.view(at.map_or(At::Head, At::Id)).await?;
        let namespace = &self.place.namespace;
        let unknown = || Failure::not_found(format!("there is no such state of subgraph {namespace:?}"));
        Ok(state::state(&view.ok_or_else(unknown)?, &self.place, &Default::default()))
    }

    /// Returns the states of the subgraph before a checkpoint that fit, newest first.
    pub(super) async fn history(
        &self,
        before: Option<CheckpointId>,
        limit: usize,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Vec<Value>, Failure> {
        let saver = self.graph.saver().ok_or(ThreadError::NoCheckpointer)?;
        let mut from = Some(before.map_or(At::Head, At::Id));
        let (mut states, mut skips) = (Vec::new(), before.is_some());
        let mut successors = Successors::default();
        while let Some(at) = from.take() {
            let page = saver.history(&self.thread, at, PAGE).await?;
            from = page.last().and_then(|last| last.parent).map(At::Id);
            for summary in page {
                if states.len() >= limit {
                    return Ok(states);
                }
                successors.note(&summary);
                if std::mem::take(&mut skips) {
                    continue;
                }
                let Some(mut view) = self.view(At::Id(summary.id)).await? else { continue };
                if let Some(next) = successors.add_results(summary.id, &mut view)
                    && let Some(next) = self.view(At::Id(next)).await?
                {
                    state::add_results(&mut view, &next.metadata);
                }
                successors.keep(&view);
                let state = state::state(&view, &self.place, &Default::default());
                states.extend(Some(state).filter(|state| fits(&state["metadata"])));
            }
        }
        Ok(states)
    }
}
