//! The data of the in-memory saver, and its lookups.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut, Index};
use core::task::Waker;
use std::sync::MutexGuard;

use foldhash::{HashMap, HashMapExt};

use super::found::{Chains, Found};
use super::leases::Leases;
use crate::checkpoint::commit::Carried;
use crate::checkpoint::name::CheckpointName;
use crate::checkpoint::size::StateSize;
use crate::checkpoint::watch::Mark;
use crate::checkpoint::{At, Checkpoint, Emitted, Seq, StoreError, Summary};
use crate::id::{CheckpointId, Fingerprint, NodeName, ThreadId};
use crate::state::{FieldId, Json, Lifetime, Schema};

#[derive(Default)]
pub(super) struct Store {
    pub(super) schemas: HashMap<Fingerprint, Arc<Schema>>,
    pub(super) topologies: HashMap<Fingerprint, Json>,
    /// The checkpoints in the store's order: the sequence number is the index plus one.
    pub(super) checkpoints: Checkpoints,
    pub(super) by_id: HashMap<CheckpointId, usize>,
    /// The greatest id.
    pub(super) newest: Option<CheckpointId>,
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

    pub(super) fn pop(&mut self) {
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
    pub(super) fn chains(
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

    pub(super) fn schema(&self, checkpoint: &Checkpoint) -> Result<Arc<Schema>, StoreError> {
        let schema = self.schemas.get(&checkpoint.schema).cloned();
        schema.ok_or(StoreError::NotRegistered(checkpoint.schema))
    }

    pub(super) fn push(&mut self, stored: Stored) -> usize {
        let (index, id) = (self.checkpoints.len(), stored.checkpoint.id);
        self.by_id.insert(id, index);
        self.newest = self.newest.max(Some(id));
        self.checkpoints.push(stored);
        index
    }

    /// Returns `true` if this is the thread of a subgraph and the thread above it was deleted.
    pub(super) fn is_orphan(&self, thread: &ThreadId) -> bool {
        thread.above().is_some_and(|above| !self.threads.contains_key(&above))
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

/// The store, locked for writing. When it is dropped, it wakes the tasks that watch the store.
pub(super) struct Writing<'s>(pub(super) MutexGuard<'s, Store>);

/// The number of writes, and the tasks that wait for the next one.
#[derive(Default)]
pub(super) struct Changes {
    count: u128,
    waiting: Vec<Waker>,
}

impl Changes {
    pub(super) fn mark(&self) -> Mark {
        Mark::from_bytes(self.count.to_le_bytes())
    }

    /// Registers a task to be woken at the next write.
    pub(super) fn wake(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|waiting| waiting.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }
}

impl Deref for Writing<'_> {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.0
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Store {
        &mut self.0
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.changes.count += 1;
        self.0.changes.waiting.drain(..).for_each(Waker::wake);
    }
}
