//! The in-memory saver.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::checkpointer::{At, Checkpointer, Commit, Committed, Page, StoreError};
use super::codec::{Fold, same_content};
use super::model::{
    AskRecord, Checkpoint, EffectId, EffectOutcome, EffectRecord, GraphDescription, Loaded, Seq, Summary,
    TaskResult, ThreadSummary,
};
use crate::id::{CheckpointId, Fingerprint, InterruptId, NodeName, ThreadId};
use crate::state::{Change, FieldId, FieldValue, Json, Lifetime, Schema};

/// Keeps checkpoints in memory, for tests and for programs that need no durability.
///
/// A commit stores the checkpoint as it is: no value is encoded, copied or folded. Values are folded when a
/// checkpoint is loaded, which walks back until every field was found. Nothing is ever dropped, so memory
/// grows with the steps.
#[derive(Default)]
pub struct MemorySaver {
    store: Mutex<Store>,
}

impl MemorySaver {
    /// A saver that holds nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        // Every change of the store is complete before anything that could panic.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemorySaver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = self.store();
        f.debug_struct("MemorySaver")
            .field("threads", &store.threads.len())
            .field("checkpoints", &store.checkpoints.len())
            .finish()
    }
}

#[derive(Default)]
struct Store {
    schemas: HashMap<Fingerprint, Arc<Schema>>,
    topologies: HashMap<Fingerprint, Json>,
    /// In the store's order: the sequence number is the index plus one.
    checkpoints: Vec<Stored>,
    by_id: HashMap<CheckpointId, usize>,
    threads: HashMap<ThreadId, Thread>,
}

struct Stored {
    checkpoint: Arc<Checkpoint>,
    thread: ThreadId,
    parent: Option<usize>,
}

struct Thread {
    graph: NodeName,
    head: usize,
    /// On top of the head.
    work: Work,
    /// What stays of the work on earlier checkpoints.
    past: HashMap<usize, Work>,
}

/// What tasks left on top of one checkpoint.
#[derive(Clone, Default)]
struct Work {
    results: Vec<TaskResult>,
    asks: Vec<AskRecord>,
    effects: Vec<EffectRecord>,
}

impl Work {
    fn is_empty(&self) -> bool {
        self.results.is_empty() && self.asks.is_empty() && self.effects.is_empty()
    }

    /// At the barrier the results are in the checkpoint; answers and outcomes stay, for replay.
    fn settle(&mut self) {
        self.results.clear();
        self.asks.retain(|ask| ask.answer.is_some());
        self.effects.retain(|effect| effect.outcome.is_some());
    }
}

/// The part of a load that needs the lock: which changes make up the values.
struct Found {
    at: usize,
    checkpoint: Arc<Checkpoint>,
    schema: Arc<Schema>,
    /// Per field, newest first.
    chains: Vec<Vec<(Arc<Checkpoint>, usize)>>,
    work: Work,
}

fn seq(index: usize) -> Seq {
    Seq(index as u64 + 1)
}

impl Store {
    fn path(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        core::iter::successors(Some(from), |&index| self.checkpoints[index].parent)
    }

    fn missing(thread: &ThreadId, checkpoint: impl ToString) -> StoreError {
        StoreError::NoCheckpoint {
            thread: thread.clone(),
            checkpoint: checkpoint.to_string(),
        }
    }

    /// The checkpoint named `id` as seen from `thread`, with the thread that continued it there.
    fn seen(&self, thread: &ThreadId, id: CheckpointId) -> Result<(usize, ThreadId), StoreError> {
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
        Err(missing())
    }

    fn find(&self, thread: &ThreadId, at: &At) -> Result<Option<Found>, StoreError> {
        let Some(held) = self.threads.get(thread) else {
            return Ok(None);
        };
        let (index, continued_by) = match at {
            At::Head => (held.head, thread.clone()),
            At::Id(id) => self.seen(thread, *id)?,
            At::Before(node) => {
                let mut after = thread;
                let found = self.path(held.head).find_map(|index| {
                    let stored = &self.checkpoints[index];
                    if stored
                        .checkpoint
                        .frontier
                        .tasks
                        .iter()
                        .any(|task| task.node == *node)
                    {
                        return Some((index, after.clone()));
                    }
                    after = &stored.thread;
                    None
                });
                found.ok_or_else(|| Self::missing(thread, alloc::format!("before node {node}")))?
            }
        };
        self.gather(index, &continued_by).map(Some)
    }

    /// Walks back from `index` until every field was found, through changes of the schema.
    fn gather(&self, index: usize, continued_by: &ThreadId) -> Result<Found, StoreError> {
        let checkpoint = self.checkpoints[index].checkpoint.clone();
        let schema = self.schema(&checkpoint)?;
        let mut open: Vec<bool> = schema
            .fields
            .iter()
            .map(|f| f.lifetime != Lifetime::Unstored)
            .collect();
        let mut left = open.iter().filter(|open| **open).count();
        let mut chains = Vec::new();
        chains.resize_with(schema.fields.len(), Vec::new);
        let mut map: Vec<Option<FieldId>> = schema.ids().map(Some).collect();
        let mut era = schema.clone();
        let mut fingerprint = checkpoint.schema;
        for index in self.path(index) {
            if left == 0 {
                break;
            }
            let held = &self.checkpoints[index].checkpoint;
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
                let target = map
                    .get(change.field.index())
                    .copied()
                    .flatten()
                    .map(FieldId::index);
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
        let work = self.threads.get(continued_by).and_then(|thread| {
            if thread.head == index {
                Some(&thread.work)
            } else {
                thread.past.get(&index)
            }
        });
        Ok(Found {
            at: index,
            checkpoint,
            schema,
            chains,
            work: work.cloned().unwrap_or_default(),
        })
    }

    fn schema(&self, checkpoint: &Checkpoint) -> Result<Arc<Schema>, StoreError> {
        let schema = self.schemas.get(&checkpoint.schema).cloned();
        schema.ok_or(StoreError::NotRegistered(checkpoint.schema))
    }

    /// The work on top of `base`, when that is the head of `thread`.
    fn work(&mut self, thread: &ThreadId, base: CheckpointId) -> Result<&mut Work, StoreError> {
        let held = self.threads.get_mut(thread);
        let held = held.ok_or_else(|| Self::missing(thread, base))?;
        if self.checkpoints[held.head].checkpoint.id == base {
            return Ok(&mut held.work);
        }
        if self.by_id.contains_key(&base) {
            return Err(StoreError::Superseded {
                thread: thread.clone(),
                base,
            });
        }
        Err(Self::missing(thread, base))
    }

    fn commit(&mut self, commit: Commit) -> Result<Outcome, StoreError> {
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
        if self.by_id.contains_key(&commit.checkpoint.id) {
            return Ok(self.lost(&commit, head));
        }
        let parent = match commit.checkpoint.parent {
            None => None,
            parent if parent == commit.expected => head,
            Some(parent) => Some(
                *self
                    .by_id
                    .get(&parent)
                    .ok_or_else(|| Self::missing(&commit.thread, parent))?,
            ),
        };
        self.check_registered(&commit.checkpoint, parent)?;

        let index = self.checkpoints.len();
        self.by_id.insert(commit.checkpoint.id, index);
        match self.threads.get_mut(&commit.thread) {
            Some(held) => {
                if !held.work.is_empty() {
                    let mut work = core::mem::take(&mut held.work);
                    if parent == Some(held.head) {
                        work.settle();
                    }
                    if !work.is_empty() {
                        held.past.insert(held.head, work);
                    }
                }
                held.head = index;
            }
            None => {
                let thread = Thread {
                    graph: commit.graph,
                    head: index,
                    work: Work::default(),
                    past: HashMap::new(),
                };
                self.threads.insert(commit.thread.clone(), thread);
            }
        }
        self.checkpoints.push(Stored {
            checkpoint: Arc::new(commit.checkpoint),
            thread: commit.thread,
            parent,
        });
        Ok(Outcome::New)
    }

    /// Why a commit that does not fit the head does not.
    fn lost(&self, commit: &Commit, head: Option<usize>) -> Outcome {
        let conflict = Outcome::Conflict(head.map(|head| self.checkpoints[head].checkpoint.id));
        if let Some(&index) = self.by_id.get(&commit.checkpoint.id) {
            let stored = &self.checkpoints[index];
            let same = stored.thread == commit.thread && same_content(&stored.checkpoint, &commit.checkpoint);
            return if same { Outcome::Already } else { conflict };
        }
        let winner = head.and_then(|head| {
            self.path(head).find(|&index| {
                let stored = &self.checkpoints[index];
                stored.thread == commit.thread && stored.checkpoint.parent == commit.checkpoint.parent
            })
        });
        match winner {
            Some(winner) if self.checkpoints[winner].checkpoint.run == commit.checkpoint.run => {
                Outcome::Adopt(winner)
            }
            _ => conflict,
        }
    }

    fn check_registered(&self, checkpoint: &Checkpoint, parent: Option<usize>) -> Result<(), StoreError> {
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

    fn summary(&self, index: usize) -> Summary {
        let stored = &self.checkpoints[index];
        Summary::of(seq(index), &stored.thread, &stored.checkpoint)
    }
}

/// What became of a commit, before the values of an adopted one are folded.
enum Outcome {
    New,
    Already,
    Adopt(usize),
    Conflict(Option<CheckpointId>),
}

impl Found {
    fn load(self) -> Result<Loaded, StoreError> {
        let mut values = Vec::new();
        for (field, chain) in self.schema.ids().zip(&self.chains) {
            let mut fold = Fold::new();
            let damaged = |error| StoreError::Corrupt {
                place: alloc::format!("field {}", self.schema.field(field).name),
                reason: alloc::format!("{error}"),
            };
            for (checkpoint, position) in chain.iter().rev() {
                let Change { ops, .. } = &checkpoint.changes[*position];
                ops.iter().try_for_each(|op| fold.apply(op)).map_err(damaged)?;
            }
            if let Some(value) = fold.finish().map_err(damaged)? {
                values.push(FieldValue { field, value });
            }
        }
        Ok(Loaded {
            seq: seq(self.at),
            checkpoint: Arc::unwrap_or_clone(self.checkpoint),
            values,
            schema: Arc::unwrap_or_clone(self.schema),
            results: self.work.results,
            asks: self.work.asks,
            effects: self.work.effects,
        })
    }
}

#[async_trait]
impl Checkpointer for MemorySaver {
    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        let mut store = self.store();
        let schema = graph.schema.fingerprint();
        store
            .schemas
            .entry(schema)
            .or_insert_with(|| Arc::new(graph.schema.clone()));
        let topology = store.topologies.entry(graph.topology_fingerprint);
        topology.or_insert_with(|| graph.topology.clone());
        Ok(())
    }

    async fn load(&self, thread: &ThreadId, at: At) -> Result<Option<Loaded>, StoreError> {
        let found = self.store().find(thread, &at)?;
        found.map(Found::load).transpose()
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let thread = commit.thread.clone();
        let mut store = self.store();
        Ok(match store.commit(commit)? {
            Outcome::New => Committed::New,
            Outcome::Already => Committed::Already,
            Outcome::Conflict(head) => Committed::Conflict { head },
            Outcome::Adopt(index) => {
                let found = store.gather(index, &thread)?;
                drop(store);
                Committed::Adopt(Box::new(found.load()?))
            }
        })
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        let mut store = self.store();
        let work = match store.work(thread, base) {
            Ok(work) => work,
            // The superstep is over: the commit that follows will say so.
            Err(StoreError::Superseded { .. }) => return Ok(result),
            Err(error) => return Err(error),
        };
        let Some(held) = work.results.iter_mut().find(|held| held.task == result.task) else {
            work.results.push(result.clone());
            return Ok(result);
        };
        if held.targets.is_none() {
            held.targets = result.targets;
        }
        Ok(held.clone())
    }

    async fn ask(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> Result<(), StoreError> {
        let mut store = self.store();
        let work = store.work(thread, base)?;
        for ask in asks {
            if work.asks.iter().all(|held| held.id != ask.id) {
                work.asks.push(ask);
            }
        }
        Ok(())
    }

    async fn answer(&self, thread: &ThreadId, answers: Vec<(InterruptId, Json)>) -> Result<(), StoreError> {
        let mut store = self.store();
        let mut none = Work::default();
        let work = store
            .threads
            .get_mut(thread)
            .map_or(&mut none, |held| &mut held.work);
        let mut places = Vec::with_capacity(answers.len());
        for (interrupt, _) in &answers {
            let place = work.asks.iter().position(|ask| ask.id == *interrupt);
            let place = place.ok_or_else(|| StoreError::NoInterrupt {
                thread: thread.clone(),
                interrupt: *interrupt,
            })?;
            if work.asks[place].answer.is_some() || places.contains(&place) {
                return Err(StoreError::AlreadyAnswered(*interrupt));
            }
            places.push(place);
        }
        for (place, (_, answer)) in places.into_iter().zip(answers) {
            work.asks[place].answer = Some(answer);
        }
        Ok(())
    }

    async fn begin_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<(), StoreError> {
        let mut store = self.store();
        let work = store.work(thread, base)?;
        match work.effects.iter_mut().find(|held| held.id == effect.id) {
            Some(held) => *held = effect,
            None => work.effects.push(effect),
        }
        Ok(())
    }

    async fn end_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectId,
        outcome: EffectOutcome,
    ) -> Result<(), StoreError> {
        let mut store = self.store();
        let work = match store.work(thread, base) {
            Ok(work) => work,
            Err(StoreError::Superseded { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        if let Some(held) = work.effects.iter_mut().find(|held| held.id == *effect) {
            held.outcome = Some(outcome);
        }
        Ok(())
    }

    async fn flush(&self, _thread: &ThreadId) -> Result<(), StoreError> {
        Ok(())
    }

    async fn history(&self, thread: &ThreadId, page: Page) -> Result<Vec<Summary>, StoreError> {
        let store = self.store();
        let Some(held) = store.threads.get(thread) else {
            return Ok(Vec::new());
        };
        let wanted = |index: &usize| page.before.is_none_or(|before| seq(*index) < before);
        let path = store.path(held.head).filter(wanted).take(page.limit);
        Ok(path.map(|index| store.summary(index)).collect())
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        let mut store = self.store();
        let (head, _) = store.seen(from, at)?;
        if store.threads.contains_key(to) {
            return Err(StoreError::ThreadExists(to.clone()));
        }
        let graph = store.threads[from].graph.clone();
        let thread = Thread {
            graph,
            head,
            work: Work::default(),
            past: HashMap::new(),
        };
        store.threads.insert(to.clone(), thread);
        Ok(())
    }

    async fn threads(&self) -> Result<Vec<ThreadSummary>, StoreError> {
        let store = self.store();
        let mut threads: Vec<_> = store
            .threads
            .iter()
            .map(|(thread, held)| ThreadSummary {
                thread: thread.clone(),
                graph: held.graph.to_string(),
                head: store.summary(held.head),
                open_asks: held
                    .work
                    .asks
                    .iter()
                    .filter(|ask| ask.answer.is_none())
                    .cloned()
                    .collect(),
            })
            .collect();
        threads.sort_by(|a, b| a.thread.cmp(&b.thread));
        Ok(threads)
    }
}
