//! The usage of the model calls of threads, with their subgraphs.

use superstep_core::checkpoint::{At, StepRecord};
use superstep_core::id::{CheckpointId, ThreadId};

use super::failure::Failure;
use super::source::Source;
use super::token_usage::TokenUsage;

/// The number of checkpoints that are read at once.
const PAGE: usize = 256;

/// The usage of the model calls that led to a checkpoint of a thread, without those of subgraphs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) head: CheckpointId,
    used: Option<TokenUsage>,
}

impl Source {
    /// Returns the usage of the model calls of a thread, on its latest branch and in its subgraphs. A fork does not
    /// include the past that it shares.
    pub(super) fn usage(&self, thread: &ThreadId) -> Result<Option<TokenUsage>, Failure> {
        let below = self.usage_below(thread, None)?;
        let Some(head) = self.reader.steps(thread, &At::Head, 1)?.pop() else { return Ok(below) };
        let to_head = match self.known_usage(thread) {
            Some(known) if known.head == head.checkpoint.id => known,
            known => self.usage_to(thread, &head, known)?,
        };
        self.remember_usage(thread, to_head);
        Ok(TokenUsage::sum([below, to_head.used, TokenUsage::by(&head.work.effects)].into_iter().flatten()))
    }

    /// Sums up the model calls before a checkpoint. The effects that led to a checkpoint are stored with its parent.
    fn usage_to(&self, thread: &ThreadId, head: &StepRecord, known: Option<Known>) -> Result<Known, Failure> {
        let mut used = Vec::new();
        let mut next = head.checkpoint.parent.filter(|_| head.thread == *thread);
        while let Some(from) = next.take() {
            let steps = self.reader.steps(thread, &At::Id(from), PAGE)?;
            for step in &steps {
                if step.thread != *thread {
                    return Ok(Known { head: head.checkpoint.id, used: TokenUsage::sum(used) });
                }
                used.extend(TokenUsage::by(&step.work.effects));
                if let Some(known) = known.filter(|known| known.head == step.checkpoint.id) {
                    used.extend(known.used);
                    return Ok(Known { head: head.checkpoint.id, used: TokenUsage::sum(used) });
                }
            }
            next = steps.last().filter(|_| steps.len() == PAGE).and_then(|last| last.checkpoint.parent);
        }
        Ok(Known { head: head.checkpoint.id, used: TokenUsage::sum(used) })
    }

    /// Returns the usage of the subgraphs that the tasks of a thread ran, or of those that it planned on one checkpoint.
    pub(super) fn usage_below(
        &self,
        thread: &ThreadId,
        planned_on: Option<CheckpointId>,
    ) -> Result<Option<TokenUsage>, Failure> {
        let mut used = Vec::new();
        for run in self.subgraphs(thread)?.iter() {
            if planned_on.is_none_or(|planned_on| run.planned_on == planned_on) {
                used.extend(self.usage(&run.thread)?);
            }
        }
        Ok(TokenUsage::sum(used))
    }
}
