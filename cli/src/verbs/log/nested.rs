//! The checkpoints of subgraphs, nested under the checkpoints whose supersteps ran them.

use serde::Serialize;

use crate::failure::Failure;
use crate::json_shapes::Line;
use crate::lines::Known;
use crate::source::{CheckpointRef, Source};
use superstep_checkpoint::Subgraph;
use superstep_core::checkpoint::{At, StepRecord};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};

use super::unfinished::Unfinished;
use super::{Drawn, used};

/// The checkpoints of a subgraph.
#[derive(Debug, Serialize)]
pub(super) struct Nested {
    /// The name of its thread.
    pub(super) name: String,
    thread: ThreadId,
    node: NodeName,
    /// The key under which its state is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    /// Its own checkpoints, newest first.
    pub(super) checkpoints: Vec<Drawn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) next_subgraphs: Vec<Nested>,
    /// `true` if there are older ones.
    pub(super) more: bool,
}

/// The levels and the number of checkpoints to list.
pub(super) struct Nesting<'s> {
    pub(super) source: &'s Source,
    pub(super) known: &'s Known,
    pub(super) depth: usize,
    /// The maximum number of checkpoints of each subgraph.
    pub(super) limit: usize,
    pub(super) unfinished: &'s Unfinished<'s>,
}

impl Nesting<'_> {
    /// Returns the lines of the newest `count` of some steps, newest first, each with the subgraphs that its superstep ran.
    pub(super) fn lines(&self, steps: &[StepRecord], count: usize) -> Result<Vec<Drawn>, Failure> {
        let lines = Line::of_steps(steps, count, self.known).zip(steps);
        let drawn = lines.map(|(line, step)| {
            let subgraphs = match step.checkpoint.parent {
                Some(parent) => self.below(&step.thread, parent)?,
                None => Vec::new(),
            };
            let line = used(self.source, line, step)?.with_name(self.source);
            let (questions, failures) = self.unfinished.on(step)?;
            Ok(Drawn { line, lanes: None, questions, failures, drawing: String::new(), subgraphs })
        });
        drawn.collect()
    }

    /// Returns the subgraphs of the tasks that a thread planned on a checkpoint.
    pub(super) fn below(&self, thread: &ThreadId, planned_on: CheckpointId) -> Result<Vec<Nested>, Failure> {
        if self.depth == 0 {
            return Ok(Vec::new());
        }
        let all = self.source.subgraphs(thread)?;
        let of_it = all.iter().filter(|subgraph| subgraph.planned_on == planned_on);
        of_it.map(|subgraph| self.nested(subgraph)).collect()
    }

    fn nested(&self, subgraph: &Subgraph) -> Result<Nested, Failure> {
        let Subgraph { thread, node, key, .. } = subgraph;
        let unfinished = Unfinished::of(self.source, thread);
        let inner = Nesting { depth: self.depth - 1, unfinished: &unfinished, ..*self };
        let steps = self.source.reader.steps(thread, &At::Head, self.limit.saturating_add(1))?;
        // A subgraph that keeps its state continues another thread, whose checkpoints are listed under its own run.
        let own = steps.iter().take_while(|step| step.thread == *thread).count();
        let next_subgraphs = match steps.first() {
            Some(head) => inner.below(thread, head.checkpoint.id)?,
            None => Vec::new(),
        };
        Ok(Nested {
            name: self.source.called(thread),
            thread: thread.clone(),
            node: node.clone(),
            key: key.clone(),
            checkpoints: inner.lines(&steps, own.min(self.limit))?,
            next_subgraphs,
            more: own > self.limit,
        })
    }

    /// Counts the subgraphs that ran for the newest `count` of some steps, or run on their head.
    pub(super) fn count(
        &self,
        place: &CheckpointRef,
        steps: &[StepRecord],
        count: usize,
    ) -> Result<usize, Failure> {
        let mut sum = 0;
        let supersteps =
            steps.iter().take(count).filter_map(|step| Some((&step.thread, step.checkpoint.parent?)));
        for (thread, planned_on) in supersteps.chain([(&place.thread, place.id)]) {
            let all = self.source.subgraphs(thread)?;
            sum += all.iter().filter(|subgraph| subgraph.planned_on == planned_on).count();
        }
        Ok(sum)
    }
}
