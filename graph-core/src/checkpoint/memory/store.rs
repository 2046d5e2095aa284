//! The data of the in-memory saver, and its lookups.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Index;

use foldhash::{HashMap, HashMapExt};

use super::found::{Chains, Found, values};
use super::leases::Leases;
use super::writing::Changes;
use crate::checkpoint::codec::same_content;
use crate::checkpoint::commit::{Carried, Commit};
use crate::checkpoint::name::CheckpointName;
use crate::checkpoint::size::StateSize;
use crate::checkpoint::{At, StoreError};
use crate::checkpoint::{Checkpoint, Emitted, Recorded, Seq, Source, Summary};
use crate::id::{CheckpointId, Fingerprint, NodeName, ThreadId};
use crate::state::{FieldId, Json, Lifetime, Schema, SizeLimits};

#[derive(Default)]
pub(super) struct Store {
    pub(super) schemas: HashMap<Fingerprint, Arc<Schema>>,
    pub(super) topologies: HashMap<Fingerprint, Json>,
    /// The checkpoints in the store's order: the sequence number is the index plus one.
    pub(super) checkpoints: Checkpoints,
    pub(super) by_id: HashMap<CheckpointId, usize>,
    /// The greatest id.
    newest: Option<CheckpointId>,
    pub(super) threads: HashMap<ThreadId, Thread>,
    pub(super) leases: Leases,
    pub(super) changes: Changes,
}

/// The checkpoints; a deleted one leaves a gap.
#[derive(Default)]
pub(super) struct Checkpoints(Vec<Option<Stored>>);

impl Checkpoints {
    /// Returns the number of positions in the store's order, including those of deleted checkpoints.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn push(&mut self, stored: Stored) {
        self.0.push(Some(stored));
    }

    fn pop(&mut self) {
        self.0.pop();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Stored)> {
        self.0.iter().enumerate().filter_map(|(index, stored)| stored.as_ref().map(|stored| (index, stored)))
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<Stored> {
        self.0[index].take()
    }

    pub(super) fn write_as(&mut self, index: usize, thread: &ThreadId) {
        if let Some(stored) = &mut self.0[index] {
            stored.thread = thread.clone();
        }
    }
}

impl Index<usize> for Checkpoints {
    type Output = Stored;

    fn index(&self, index: usize) -> &Stored {
        self.0[index].as_ref().expect("what is referred to is not deleted")
    }
}

pub(super) struct Stored {
    pub(super) checkpoint: Arc<Checkpoint>,
    pub(super) thread: ThreadId,
    pub(super) parent: Option<usize>,
    pub(super) emitted: Vec<(u32, Emitted)>,
}

pub(super) struct Thread {
    pub(super) graph: NodeName,
    pub(super) head: usize,
    /// The unfinished work on top of the head.
    pub(super) work: Carried,
    /// The work kept on earlier checkpoints.
    pub(super) past: HashMap<usize, Carried>,
    /// The thread's names for checkpoints.
    pub(super) names: BTreeMap<CheckpointName, usize>,
    /// The size of the state at the head, if it is known.
    pub(super) size: Option<StateSize>,
}

impl Thread {
    pub(super) fn new(graph: NodeName, head: usize, work: Carried, size: Option<StateSize>) -> Self {
        Self { graph, head, work, past: HashMap::new(), names: BTreeMap::new(), size }
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

pub(super) fn seq(index: usize) -> Seq {
    Seq(index as u64 + 1)
}

impl Store {
    pub(super) fn path(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        core::iter::successors(Some(from), |&index| self.checkpoints[index].parent)
    }

    pub(super) fn missing(thread: &ThreadId, checkpoint: impl ToString) -> StoreError {
        StoreError::NoCheckpoint { thread: thread.clone(), checkpoint: checkpoint.to_string() }
    }

    /// Returns the checkpoint with the id `id` as seen from `thread`, and the thread that continued it there.
    pub(super) fn seen(&self, thread: &ThreadId, id: CheckpointId) -> Result<(usize, ThreadId), StoreError> {
        let missing = || Self::missing(thread, id);
        let index = *self.by_id.get(&id).ok_or_else(missing)?;
        let head = self.threads.get(thread).ok_or_else(missing)?.head;
        if self.checkpoints[index].thread == *thread {
            return Ok((index, thread.clone()));
        }
        let mut after = thread;
        for step in self.path(head).take_while(|step| *step >= index) {
            if step == index {
                return Ok((index, after.clone()));
            }
            after = &self.checkpoints[step].thread;
        }
        match self.threads[thread].names.values().any(|named| *named == index) {
            true => Ok((index, self.checkpoints[index].thread.clone())),
            false => Err(missing()),
        }
    }

    /// Returns the selected checkpoint of a thread, and the thread that continued it there.
    pub(super) fn place(&self, thread: &ThreadId, at: &At) -> Result<Option<(usize, ThreadId)>, StoreError> {
        let Some(held) = self.threads.get(thread) else {
            return Ok(None);
        };
        Ok(Some(match at {
            At::Head => (held.head, thread.clone()),
            At::Id(id) => self.seen(thread, *id)?,
            At::Named(name) => {
                let index = held.names.get(name).ok_or_else(|| StoreError::no_name(thread, name))?;
                self.seen(thread, self.checkpoints[*index].checkpoint.id)?
            }
            At::Before(node) => {
                let mut after = thread;
                let found = self.path(held.head).find_map(|index| {
                    let stored = &self.checkpoints[index];
                    if stored.checkpoint.frontier.tasks.iter().any(|task| task.node == *node) {
                        return Some((index, after.clone()));
                    }
                    after = &stored.thread;
                    None
                });
                found.ok_or_else(|| Self::missing(thread, alloc::format!("before node {node}")))?
            }
        }))
    }

    pub(super) fn fork(
        &mut self,
        from: &ThreadId,
        at: CheckpointId,
        to: &ThreadId,
    ) -> Result<(), StoreError> {
        let (head, _) = self.seen(from, at)?;
        if self.threads.contains_key(to) {
            return Err(StoreError::ThreadExists(to.clone()));
        }
        if self.is_orphan(to) {
            return Err(StoreError::Superseded { thread: to.clone(), base: at });
        }
        let source = &self.threads[from];
        let size = source.size.clone().filter(|_| source.head == head);
        let thread = Thread::new(source.graph.clone(), head, Carried::default(), size);
        self.threads.insert(to.clone(), thread);
        Ok(())
    }

    /// Returns the work that `thread` left on top of a checkpoint that it continued, or that is its head.
    pub(super) fn left_on(&self, index: usize, thread: &ThreadId) -> Carried {
        let thread = &self.threads[thread];
        let work = if thread.head == index { Some(&thread.work) } else { thread.past.get(&index) };
        work.cloned().unwrap_or_default()
    }

    pub(super) fn gather(&self, index: usize, continued_by: &ThreadId) -> Result<Found, StoreError> {
        let Stored { checkpoint, parent, .. } = &self.checkpoints[index];
        let checkpoint = checkpoint.clone();
        let schema = self.schema(&checkpoint)?;
        let chains = self.chains(&checkpoint, *parent, &schema)?;
        let graph = self.threads[continued_by].graph.clone();
        Ok(Found { at: index, graph, checkpoint, schema, chains, work: self.left_on(index, continued_by) })
    }

    /// Walks back from a checkpoint on `parent` until every field is found, across changes of the schema.
    fn chains(
        &self,
        checkpoint: &Arc<Checkpoint>,
        parent: Option<usize>,
        schema: &Arc<Schema>,
    ) -> Result<Chains, StoreError> {
        let mut open: Vec<bool> = schema.fields.iter().map(|f| f.lifetime != Lifetime::Unstored).collect();
        let mut left = open.iter().filter(|open| **open).count();
        let mut chains = Vec::new();
        chains.resize_with(schema.fields.len(), Vec::new);
        let mut map: Vec<Option<FieldId>> = schema.ids().map(Some).collect();
        let mut era = schema.clone();
        let mut fingerprint = checkpoint.schema;
        let older = parent.into_iter().flat_map(|parent| self.path(parent));
        let older = older.map(|index| &self.checkpoints[index].checkpoint);
        for held in core::iter::once(checkpoint).chain(older) {
            if left == 0 {
                break;
            }
            if held.schema != fingerprint {
                let older = self.schema(held)?;
                map = era
                    .carried_from(&older)
                    .into_iter()
                    .map(|newer| newer.and_then(|newer| map[newer.index()]))
                    .collect();
                fingerprint = held.schema;
                era = older;
            }
            for (position, change) in held.changes.iter().enumerate() {
                let target = map.get(change.field.index()).copied().flatten().map(FieldId::index);
                let Some(target) = target.filter(|target| open[*target]) else {
                    continue;
                };
                chains[target].push((held.clone(), position));
                if change.ops.first().is_some_and(|op| op.is_whole()) {
                    open[target] = false;
                    left -= 1;
                }
            }
        }
        Ok(chains)
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

    pub(super) fn schema(&self, checkpoint: &Checkpoint) -> Result<Arc<Schema>, StoreError> {
        let schema = self.schemas.get(&checkpoint.schema).cloned();
        schema.ok_or(StoreError::NotRegistered(checkpoint.schema))
    }

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

    fn push(&mut self, stored: Stored) -> usize {
        let (index, id) = (self.checkpoints.len(), stored.checkpoint.id);
        self.by_id.insert(id, index);
        self.newest = self.newest.max(Some(id));
        self.checkpoints.push(stored);
        index
    }

    /// Takes the size of the state on which a commit builds; `None` if it must be computed.
    fn known_size(&mut self, commit: &Commit, parent: Option<usize>) -> Option<StateSize> {
        let Some(parent) = parent else { return Some(StateSize::default()) };
        let held = self.threads.get_mut(&commit.thread).filter(|held| held.head == parent)?;
        let schema = self.checkpoints[parent].checkpoint.schema;
        held.size.take().filter(|_| schema == commit.first().schema)
    }

    /// Returns `true` if this is the thread of a subgraph and the thread above it was deleted.
    pub(super) fn is_orphan(&self, thread: &ThreadId) -> bool {
        thread.above().is_some_and(|above| !self.threads.contains_key(&above))
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

    pub(super) fn check_registered(
        &self,
        checkpoint: &Checkpoint,
        parent: Option<usize>,
    ) -> Result<(), StoreError> {
        let parent = parent.map(|parent| &self.checkpoints[parent].checkpoint);
        let as_parent = parent.is_some_and(|parent| {
            parent.schema == checkpoint.schema && parent.topology == checkpoint.topology
        });
        if as_parent {
            return Ok(());
        }
        if !self.schemas.contains_key(&checkpoint.schema) {
            return Err(StoreError::NotRegistered(checkpoint.schema));
        }
        if !self.topologies.contains_key(&checkpoint.topology) {
            return Err(StoreError::NotRegistered(checkpoint.topology));
        }
        Ok(())
    }

    pub(super) fn summary(&self, index: usize) -> Summary {
        let stored = &self.checkpoints[index];
        Summary::of(seq(index), &stored.thread.before_deletion(), &stored.checkpoint)
    }
}

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
