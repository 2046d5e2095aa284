//! The scans of the in-memory saver.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::store::{Store, Stored, Thread, seq};
use crate::checkpoint::{At, Checkpoint, StepRecord, StoreError, Summary, ThreadScan, ThreadSummary};
use crate::id::ThreadId;

impl Store {
    /// Returns the threads that a scan asks for, ordered by name.
    pub(super) fn threads(&self, scan: &ThreadScan) -> Vec<ThreadSummary> {
        let wanted = |(name, held): &(&ThreadId, &Thread)| {
            !name.is_below()
                && scan.graph.as_ref().is_none_or(|graph| held.graph == *graph)
                && scan.after.as_ref().is_none_or(|after| *name > after)
                && !(scan.unfinished
                    && self.checkpoints[held.head].checkpoint.frontier.nodes().next().is_none())
        };
        let mut threads: Vec<_> = self.threads.iter().filter(wanted).collect();
        threads.sort_by_key(|(name, _)| *name);
        threads.truncate(scan.limit.unwrap_or(usize::MAX));
        let summary = |(thread, held): (&ThreadId, &Thread)| ThreadSummary {
            thread: thread.clone(),
            graph: held.graph.to_string(),
            head: self.summary(held.head),
            open_asks: held.work.asks.iter().filter(|ask| ask.is_open()).cloned().collect(),
        };
        threads.into_iter().map(summary).collect()
    }

    /// Returns the selected checkpoint and those that it continues, newest first.
    pub(super) fn history(
        &self,
        thread: &ThreadId,
        from: &At,
        limit: usize,
    ) -> Result<Vec<Summary>, StoreError> {
        let Some((from, _)) = self.place(thread, from)? else {
            return Ok(Vec::new());
        };
        Ok(self.path(from).take(limit).map(|index| self.summary(index)).collect())
    }

    /// Returns all checkpoints that go back to the first one of a thread, newest first.
    pub(super) fn lineage(&self, thread: &ThreadId) -> Vec<Summary> {
        let Some(held) = self.threads.get(thread) else { return Vec::new() };
        let first = self.path(held.head).last();
        let mut in_it = alloc::vec![false; self.checkpoints.len()];
        let mut tree = Vec::new();
        for (index, stored) in self.checkpoints.iter() {
            in_it[index] = Some(index) == first || stored.parent.is_some_and(|parent| in_it[parent]);
            if in_it[index] && !stored.thread.before_deletion().is_below() {
                tree.push(self.summary(index));
            }
        }
        tree.reverse();
        tree
    }

    /// Returns the selected checkpoint and those that it continues, each with its remaining work.
    pub(super) fn steps(
        &self,
        thread: &ThreadId,
        from: &At,
        limit: usize,
    ) -> Result<Vec<StepRecord>, StoreError> {
        let Some((from, mut continued_by)) = self.place(thread, from)? else {
            return Ok(Vec::new());
        };
        let steps = self.path(from).take(limit).map(|index| {
            let Stored { checkpoint, thread, emitted, .. } = &self.checkpoints[index];
            let after = core::mem::replace(&mut continued_by, thread.clone());
            Ok(StepRecord {
                seq: seq(index),
                graph: self.threads[&after].graph.clone(),
                thread: thread.before_deletion(),
                checkpoint: Checkpoint::clone(checkpoint),
                schema: self.schema(checkpoint)?,
                work: self.left_on(index, &after),
                emitted: emitted.clone(),
            })
        });
        steps.collect()
    }
}
