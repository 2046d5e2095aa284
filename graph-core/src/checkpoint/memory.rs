//! The in-memory saver.

mod delete;
mod found;
mod leases;
mod names;
mod store;

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use self::store::{Outcome, Store, Thread, Work};
use super::checkpointer::{At, Checkpointer, StoreError};
use super::commit::{Commit, Committed};
use super::lease::{Acquired, Claim, LeaseRecord};
use super::name::{NamedCheckpoint, Naming};
use super::record::Record;
use super::step_record::StepRecord;
use super::{
    AnsweredBy, AskRecord, EffectId, EffectOutcome, EffectRecord, FailureRecord, GraphDescription, Loaded,
    Summary, TaskResult, ThreadSummary,
};
use crate::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use crate::state::{Json, SizeLimits};
use async_trait::async_trait;

/// Keeps checkpoints in memory, for tests and for programs that need no durability.
///
/// A commit stores the checkpoint as it is: no value is encoded, copied or folded. Values are folded when a
/// checkpoint is loaded, which walks back until every field was found. Nothing is dropped but threads that are
/// deleted, so memory grows with the steps.
///
/// Clones hold the same threads: give a clone to each graph that is to see them.
#[derive(Clone)]
pub struct MemorySaver {
    store: Arc<Mutex<Store>>,
    /// Set for the holder of a lease.
    lease: Option<LeaseRecord>,
    /// What the leases are told of the time: milliseconds since 1970.
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    limits: SizeLimits,
}

impl Default for MemorySaver {
    fn default() -> Self {
        Self { store: Arc::default(), lease: None, clock: Arc::new(system_ms), limits: SizeLimits::default() }
    }
}

fn system_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl MemorySaver {
    /// A saver that holds nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How large what is stored may be. What is larger is refused.
    #[must_use]
    pub fn size_limits(mut self, limits: SizeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets `clock` tell leases the time, in milliseconds since 1970. For tests of clocks that jump.
    #[doc(hidden)]
    #[must_use]
    pub fn lease_clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The store, to write to it.
    fn writable(&self) -> Result<MutexGuard<'_, Store>, StoreError> {
        let store = self.store();
        match &self.lease {
            Some(lease) => store.leases.check(lease).map(|()| store),
            None => Ok(store),
        }
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
            .field("checkpoints", &store.checkpoints.iter().count())
            .finish()
    }
}

#[async_trait]
impl Checkpointer for MemorySaver {
    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        let mut store = self.store();
        let schema = graph.schema.fingerprint();
        store.schemas.entry(schema).or_insert_with(|| Arc::new(graph.schema.clone()));
        let topology = store.topologies.entry(graph.topology_fingerprint);
        topology.or_insert_with(|| graph.topology.clone());
        Ok(())
    }

    async fn load(&self, thread: &ThreadId, at: At) -> Result<Option<Loaded>, StoreError> {
        let found = self.store().find(thread, &at)?;
        found.map(|found| found.load(self.limits)).transpose()
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let mut store = self.writable()?;
        Ok(match store.commit(commit, &self.limits)? {
            Outcome::New => Committed::New,
            Outcome::Already => Committed::Already,
            Outcome::Conflict(head) => Committed::Conflict { head },
            Outcome::Adopt(index, thread) => {
                let found = store.gather(index, &thread)?;
                drop(store);
                Committed::Adopt(Box::new(found.load(self.limits)?))
            }
            Outcome::Outrun(index, thread) => {
                let found = store.gather(index, &thread)?;
                drop(store);
                Committed::Outrun(Box::new(found.load(self.limits)?))
            }
        })
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        result.check(&self.limits)?;
        let Ok(mut store) = self.writable() else { return Ok(result) };
        let work = match store.work(thread, base) {
            Ok(work) => work,
            // The superstep is over: the commit that follows will say so.
            Err(StoreError::Superseded { .. }) => return Ok(result),
            Err(error) => return Err(error),
        };
        work.failures.retain(|failure| failure.task != result.task);
        let Some(held) = work.results.iter_mut().find(|held| held.task == result.task) else {
            work.results.push(result.clone());
            return Ok(result);
        };
        if held.targets.is_none() {
            held.targets = result.targets;
            held.handled = result.handled;
        }
        Ok(held.clone())
    }

    async fn fail(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        failure: FailureRecord,
    ) -> Result<(), StoreError> {
        failure.check(&self.limits)?;
        let Ok(mut store) = self.writable() else { return Ok(()) };
        let work = match store.work(thread, base) {
            Ok(work) => work,
            Err(StoreError::Superseded { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        if work.results.iter().all(|result| result.task != failure.task) {
            work.failures.retain(|held| held.task != failure.task);
            work.failures.push(failure);
        }
        Ok(())
    }

    async fn ask(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> Result<(), StoreError> {
        asks.iter().try_for_each(|ask| ask.check(&self.limits))?;
        let mut store = self.writable()?;
        let work = store.work(thread, base)?;
        let given_up = |held: &AskRecord| {
            held.answer.is_none()
                && asks.iter().any(|ask| ask.task == held.task)
                && asks.iter().all(|ask| ask.id != held.id)
        };
        work.asks.retain(|held| !given_up(held));
        for ask in asks {
            if work.asks.iter().all(|held| held.id != ask.id) {
                work.asks.push(ask);
            }
        }
        Ok(())
    }

    async fn answer(&self, thread: &ThreadId, answers: Vec<(InterruptId, Json)>) -> Result<(), StoreError> {
        answers.iter().try_for_each(|(_, answer)| answer.check(&self.limits))?;
        let mut store = self.writable()?;
        let mut none = Work::default();
        let work = store.threads.get_mut(thread).map_or(&mut none, |held| &mut held.work);
        let mut places = Vec::with_capacity(answers.len());
        for (interrupt, _) in &answers {
            let place = work.asks.iter().position(|ask| ask.id == *interrupt);
            let place = place
                .ok_or_else(|| StoreError::NoInterrupt { thread: thread.clone(), interrupt: *interrupt })?;
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

    async fn expire(
        &self,
        graph: &NodeName,
        thread: Option<&ThreadId>,
        now_ms: u64,
    ) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        let mut store = self.writable()?;
        let is_meant = |name: &ThreadId| thread.is_none_or(|thread| thread == name) && !name.is_below();
        let threads = store.threads.iter_mut().filter(|(name, held)| is_meant(name) && held.graph == *graph);
        let mut expired = Vec::new();
        for (name, held) in threads {
            for ask in held.work.asks.iter_mut().filter(|ask| ask.is_overdue(now_ms)) {
                ask.answer = ask.deadline.as_ref().map(|deadline| deadline.default.clone());
                ask.answered_by = AnsweredBy::Deadline;
                expired.push((name.clone(), ask.clone()));
            }
        }
        expired.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(expired)
    }

    async fn begin_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError> {
        effect.check(&self.limits)?;
        let mut store = self.writable()?;
        let work = store.work(thread, base)?;
        match work.effects.iter_mut().find(|held| held.id == effect.id) {
            Some(held) if effect.follows(Some(held)) => *held = effect,
            Some(held) => return Ok(Some(held.clone())),
            None => work.effects.push(effect),
        }
        Ok(None)
    }

    async fn end_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectId,
        outcome: EffectOutcome,
    ) -> Result<(), StoreError> {
        outcome.check(&self.limits)?;
        let mut store = self.writable()?;
        let work = match store.work(thread, base) {
            Ok(work) => work,
            Err(StoreError::Superseded { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        if let Some(held) = work.effects.iter_mut().find(|held| held.id == *effect) {
            if held.is_settled_otherwise(&outcome) {
                return Err(StoreError::Superseded { thread: thread.clone(), base });
            }
            held.outcome = Some(outcome);
        }
        Ok(())
    }

    async fn note_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<(), StoreError> {
        let outcome = effect.outcome.clone();
        match self.begin_effect(thread, base, effect).await {
            Err(StoreError::Superseded { .. } | StoreError::LeaseLost { .. }) => Ok(()),
            Ok(Some(held)) if held.outcome != outcome => {
                Err(StoreError::Superseded { thread: thread.clone(), base })
            }
            done => done.map(drop),
        }
    }

    async fn flush(&self, _thread: &ThreadId) -> Result<(), StoreError> {
        self.writable().map(drop)
    }

    async fn history(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<Summary>, StoreError> {
        let store = self.store();
        let Some((from, _)) = store.place(thread, &from)? else {
            return Ok(Vec::new());
        };
        Ok(store.path(from).take(limit).map(|index| store.summary(index)).collect())
    }

    async fn lineage(&self, thread: &ThreadId) -> Result<Vec<Summary>, StoreError> {
        Ok(self.store().lineage(thread))
    }

    async fn steps(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<StepRecord>, StoreError> {
        self.store().steps(thread, &from, limit)
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        let mut store = self.writable()?;
        let (head, _) = store.seen(from, at)?;
        if store.threads.contains_key(to) {
            return Err(StoreError::ThreadExists(to.clone()));
        }
        if store.is_orphan(to) {
            return Err(StoreError::Superseded { thread: to.clone(), base: at });
        }
        let graph = store.threads[from].graph.clone();
        let size = store.threads[from].size.clone().filter(|_| store.threads[from].head == head);
        let thread = Thread::new(graph, head, Work::default(), size);
        store.threads.insert(to.clone(), thread);
        Ok(())
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        self.writable()?.name(thread, naming)
    }

    async fn names(&self, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError> {
        Ok(self.store().names(thread))
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        self.writable()?.delete(graph, thread)
    }

    async fn acquire(&self, claim: Claim) -> Result<Acquired, StoreError> {
        Ok(self.store().leases.acquire(claim, (self.clock)()))
    }

    async fn renew(&self, lease: &LeaseRecord) -> Result<LeaseRecord, StoreError> {
        self.store().leases.renew(lease, (self.clock)())
    }

    async fn release(&self, lease: &LeaseRecord) -> Result<(), StoreError> {
        self.store().leases.release(lease)
    }

    async fn break_lease(&self, thread: &ThreadId) -> Result<Option<LeaseRecord>, StoreError> {
        Ok(self.store().leases.take(thread))
    }

    async fn leases(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        Ok(self.store().leases.all())
    }

    fn fenced(&self, lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
        Some(Arc::new(Self { lease: Some(lease.clone()), ..self.clone() }))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    async fn unfinished(&self, graph: &NodeName) -> Result<Vec<ThreadSummary>, StoreError> {
        let mut threads = self.threads().await?;
        threads.retain(|thread| thread.graph == graph.as_str() && !thread.head.next.is_empty());
        Ok(threads)
    }

    async fn open_asks(&self, graph: &NodeName) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        let store = self.store();
        let threads = store.threads.iter().filter(|(name, held)| !name.is_below() && held.graph == *graph);
        let open = threads.flat_map(|(name, held)| {
            held.work.asks.iter().filter(|ask| ask.is_open()).map(move |ask| (name.clone(), ask.clone()))
        });
        let mut open: Vec<_> = open.collect();
        open.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(open)
    }

    async fn threads(&self) -> Result<Vec<ThreadSummary>, StoreError> {
        let store = self.store();
        let mut threads: Vec<_> = store
            .threads
            .iter()
            .filter(|(thread, _)| !thread.is_below())
            .map(|(thread, held)| ThreadSummary {
                thread: thread.clone(),
                graph: held.graph.to_string(),
                head: store.summary(held.head),
                open_asks: held.work.asks.iter().filter(|ask| ask.answer.is_none()).cloned().collect(),
            })
            .collect();
        threads.sort_by(|a, b| a.thread.cmp(&b.thread));
        Ok(threads)
    }
}
