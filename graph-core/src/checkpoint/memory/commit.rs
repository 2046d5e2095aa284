//! Commits to the in-memory saver.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::found::values;
use super::store::{Store, Stored, Thread};
use crate::checkpoint::codec::same_content;
use crate::checkpoint::commit::{Carried, Commit};
use crate::checkpoint::size::StateSize;
use crate::checkpoint::{Checkpoint, Recorded, Source, StoreError};
use crate::id::{CheckpointId, ThreadId};
use crate::state::SizeLimits;

/// The result of a commit, before the values of an adopted one are folded.
pub(super) enum Outcome {
    New,
    Already,
    /// The checkpoint of this thread was adopted.
    Adopt(usize, ThreadId),
    /// More is recorded on this head of this thread than the writer knows.
    Outrun(usize, ThreadId),
    Conflict(Option<CheckpointId>),
}

impl Store {
    pub(super) fn commit(&mut self, commit: Commit, limits: &SizeLimits) -> Result<Outcome, StoreError> {
        let held = self.threads.get(&commit.thread);
        if let Some(held) = held.filter(|held| held.graph != commit.graph) {
            return Err(StoreError::WrongGraph {
                thread: commit.thread,
                expected: commit.graph.to_string(),
                found: held.graph.to_string(),
            });
        }
        let head = held.map(|held| held.head);
        if head.map(|head| self.checkpoints[head].checkpoint.id) != commit.expected {
            return Ok(self.lost(&commit, head));
        }
        if head.is_none() && self.is_orphan(&commit.thread) {
            return Ok(Outcome::Conflict(None));
        }
        // Ids sort by time, so a new id is nearly always greater than all others, and needs no lookup.
        let is_taken = |id| self.newest >= Some(id) && self.by_id.contains_key(&id);
        if is_taken(commit.checkpoint.id) || is_taken(commit.first().id) {
            return Ok(self.lost(&commit, head));
        }
        if let (Some(known), Some(held)) = (commit.recorded, held)
            && Recorded::of(&held.work.results, &held.work.effects) != known
        {
            return Ok(Outcome::Outrun(held.head, commit.thread));
        }
        let first = commit.first();
        let parent = match first.parent {
            None => None,
            parent if parent == commit.expected => head,
            Some(parent) => {
                Some(*self.by_id.get(&parent).ok_or_else(|| Self::missing(&commit.thread, parent))?)
            }
        };
        self.check_registered(first, parent)?;
        commit.check(limits)?;
        let goes_on = parent.is_some() && parent == head && first.source != Source::Input;
        let known = self.known_size(&commit, parent);
        let size = self.size_after(known, &commit.thread, commit.first(), parent, limits)?;
        let (index, size) = self.put(&commit, parent, size, limits)?;

        let Commit { thread, graph, carried, .. } = commit;
        let carried = carried.map(|carried| *carried).unwrap_or_default();
        match self.threads.get_mut(&thread) {
            Some(held) => {
                let mut work = core::mem::replace(&mut held.work, carried);
                if goes_on {
                    settle(&mut work);
                } else {
                    discard(&mut work);
                }
                if !work.is_empty() {
                    held.past.insert(held.head, work);
                }
                held.head = index;
                held.size = Some(size);
            }
            None => drop(self.threads.insert(thread, Thread::new(graph, index, carried, Some(size)))),
        }
        Ok(Outcome::New)
    }

    /// Adds the checkpoints of a commit. `size` is that of the state at the first one. Returns the place of the last one,
    /// and the size there.
    fn put(
        &mut self,
        commit: &Commit,
        parent: Option<usize>,
        size: StateSize,
        limits: &SizeLimits,
    ) -> Result<(usize, StateSize), StoreError> {
        let Commit { thread, input, checkpoint, emitted, .. } = commit;
        let mut stored = Stored {
            checkpoint: checkpoint.clone(),
            thread: thread.clone(),
            parent,
            emitted: emitted.clone(),
        };
        let Some(input) = input else { return Ok((self.push(stored), size)) };
        let below = Stored { checkpoint: input.clone(), thread: thread.clone(), parent, emitted: Vec::new() };
        let below = self.push(below);
        let known = Some(size).filter(|_| input.schema == checkpoint.schema);
        let registered = self.check_registered(checkpoint, Some(below));
        match registered.and_then(|()| self.size_after(known, thread, checkpoint, Some(below), limits)) {
            Ok(size) => {
                stored.parent = Some(below);
                Ok((self.push(stored), size))
            }
            Err(error) => {
                self.by_id.remove(&input.id);
                self.checkpoints.pop();
                Err(error)
            }
        }
    }

    /// Takes the size of the state on which a commit builds; `None` if it must be computed.
    fn known_size(&mut self, commit: &Commit, parent: Option<usize>) -> Option<StateSize> {
        let Some(parent) = parent else { return Some(StateSize::default()) };
        let held = self.threads.get_mut(&commit.thread).filter(|held| held.head == parent)?;
        let schema = self.checkpoints[parent].checkpoint.schema;
        held.size.take().filter(|_| schema == commit.first().schema)
    }

    /// Returns the outcome of a commit that does not fit the head.
    pub(super) fn lost(&self, commit: &Commit, head: Option<usize>) -> Outcome {
        let conflict = Outcome::Conflict(head.map(|head| self.checkpoints[head].checkpoint.id));
        if let Some(&index) = self.by_id.get(&commit.checkpoint.id) {
            let stored = &self.checkpoints[index];
            let same = stored.thread == commit.thread && same_content(&stored.checkpoint, &commit.checkpoint);
            return if same { Outcome::Already } else { conflict };
        }
        let winner = head.and_then(|head| {
            self.path(head).find(|&index| {
                let stored = &self.checkpoints[index];
                stored.thread == commit.thread && stored.checkpoint.parent == commit.first().parent
            })
        });
        match winner {
            Some(winner) if self.checkpoints[winner].checkpoint.run == commit.checkpoint.run => {
                Outcome::Adopt(winner, commit.thread.clone())
            }
            _ => conflict,
        }
    }

    /// Returns the size of the state at a new checkpoint on `parent`. `known` is the size at the parent, if it is
    /// known.
    fn size_after(
        &self,
        known: Option<StateSize>,
        thread: &ThreadId,
        checkpoint: &Arc<Checkpoint>,
        parent: Option<usize>,
        limits: &SizeLimits,
    ) -> Result<StateSize, StoreError> {
        let limits = limits.to_write();
        if let Some(mut size) = known {
            size.follow(&checkpoint.changes);
            if size.check(&limits).is_ok() {
                return Ok(size);
            }
        }
        let schema = self.schema(checkpoint)?;
        let values = values(&self.chains(checkpoint, parent, &schema)?, &schema, limits);
        let size = match values {
            Ok(values) => StateSize::of(&values),
            // A value that does not fold causes an error when it is read.
            Err(StoreError::Corrupt { .. }) => return Ok(StateSize::default()),
            Err(error) => return Err(error),
        };
        let place = || alloc::format!("the state of thread {thread} at step {}", checkpoint.step);
        size.check(&limits).map_err(|excess| StoreError::TooLarge { place: place(), excess })?;
        Ok(size)
    }
}

/// Keeps the part of the work that remains after a barrier: answers and outcomes, for replay.
pub(super) fn settle(work: &mut Carried) {
    work.results.clear();
    work.failures.clear();
    discard(work);
}

/// Keeps the part of the work that remains of a discarded superstep: also results and failures, for inspection.
fn discard(work: &mut Carried) {
    work.asks.retain(|ask| ask.answer.is_some());
    work.effects.retain(|effect| effect.outcome.is_some());
}
