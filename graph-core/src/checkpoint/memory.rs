//! The in-memory saver.

mod commit;
mod delete;
mod found;
mod leases;
mod names;
mod pending;
mod scan;
mod store;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::poll_fn;
use core::task::Poll;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use self::commit::Outcome;
use self::store::Store;
use super::checkpointer::{At, Checkpointer, Load};
use super::commit::{Commit, Committed};
use super::lease::{LeaseRecord, LeaseReply, LeaseRequest};
use super::name::Naming;
use super::record::Record;
use super::scan::{Page, PastScan, Scan};
use super::store_error::StoreError;
use super::watch::{Mark, Watch};
use super::work::{Answered, Answers, EffectWrite, Work};
use super::{EffectRecord, GraphDescription, TaskResult};
use crate::id::{CheckpointId, NodeName, ThreadId};
use crate::records::{MemoryRecords, Records};
use crate::state::SizeLimits;
use async_trait::async_trait;
use store::Writing;

/// Keeps checkpoints in memory, for tests and for programs that need no durability.
///
/// A commit stores the checkpoint unchanged: no value is encoded, copied or folded. Values are folded when a
/// checkpoint is loaded, which walks back until every field was found. Only deleted threads are dropped, so memory
/// grows with the number of steps.
///
/// Clones share the threads: give a clone to each graph that needs them.
#[derive(Clone)]
pub struct MemorySaver {
    store: Arc<Mutex<Store>>,
    /// The lease, in the saver of a lease holder.
    lease: Option<LeaseRecord>,
    /// The clock of the leases, in milliseconds since 1970.
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    limits: SizeLimits,
    records: Arc<MemoryRecords>,
}

impl Default for MemorySaver {
    fn default() -> Self {
        let (store, records) = (Arc::default(), Arc::default());
        Self { store, lease: None, clock: Arc::new(system_ms), limits: SizeLimits::default(), records }
    }
}

fn system_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl MemorySaver {
    /// Creates an empty saver.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the size limits of stored data. Data beyond them is rejected.
    #[must_use]
    pub fn size_limits(mut self, limits: SizeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the clock of the leases, in milliseconds since 1970. For tests of clocks that jump.
    #[doc(hidden)]
    #[must_use]
    pub fn lease_clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Returns the store for writing.
    fn writable(&self) -> Result<Writing<'_>, StoreError> {
        let store = self.store();
        self.check_lease(&store)?;
        Ok(Writing(store))
    }

    fn check_lease(&self, store: &Store) -> Result<(), StoreError> {
        self.lease.as_ref().map_or(Ok(()), |lease| store.leases.check(lease))
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        // A panic cannot leave the store half-changed, because every change is complete before any code that could
        // panic.
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

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        let store = self.store();
        let Some((index, continued_by)) = store.place(thread, &at)? else {
            return Ok(Load::Missing);
        };
        if known == Some(store.checkpoints[index].checkpoint.id) {
            return Ok(Load::Unchanged(store.left_on(index, &continued_by)));
        }
        let found = store.gather(index, &continued_by)?;
        drop(store);
        Ok(Load::Whole(Box::new(found.load(self.limits)?)))
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
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError> {
        match work {
            Work::Finished(result) => {
                result.check(&self.limits)?;
                let Ok(mut store) = self.writable() else { return Ok(Some(result)) };
                store.record(thread, base, result).map(Some)
            }
            Work::Failure(failure) => {
                failure.check(&self.limits)?;
                let Ok(mut store) = self.writable() else { return Ok(None) };
                store.fail(thread, base, failure).map(|()| None)
            }
            Work::Asks(asks) => {
                asks.iter().try_for_each(|ask| ask.check(&self.limits))?;
                self.writable()?.ask(thread, base, asks).map(|()| None)
            }
        }
    }

    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        match write {
            EffectWrite::Begin(effect) => {
                effect.check(&self.limits)?;
                self.writable()?.begin_effect(thread, base, effect)
            }
            EffectWrite::End { effect, outcome } => {
                outcome.check(&self.limits)?;
                self.writable()?.end_effect(thread, base, &effect, outcome).map(|()| None)
            }
            EffectWrite::Note(effect) => {
                effect.check(&self.limits)?;
                let Ok(mut store) = self.writable() else { return Ok(None) };
                store.note_effect(thread, base, effect).map(|()| None)
            }
        }
    }

    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError> {
        match answers {
            Answers::Given { thread, answers } => {
                answers.iter().try_for_each(|(_, answer)| answer.check(&self.limits))?;
                self.writable()?.answer(&thread, answers)
            }
            Answers::Overdue { graph, thread, now_ms } => {
                Ok(Answered::Expired(self.writable()?.expire(&graph, thread.as_ref(), now_ms)))
            }
        }
    }

    async fn flush(&self, _thread: &ThreadId) -> Result<(), StoreError> {
        self.check_lease(&self.store())
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        let store = self.store();
        Ok(match scan {
            Scan::Threads(scan) => Page::Threads(store.threads(&scan)),
            Scan::Asks { graph } => Page::Asks(store.open_asks(&graph)),
            Scan::History(PastScan { thread, from, limit }) => {
                Page::Summaries(store.history(&thread, &from, limit)?)
            }
            Scan::Steps(PastScan { thread, from, limit }) => Page::Steps(store.steps(&thread, &from, limit)?),
            Scan::Lineage { thread } => Page::Summaries(store.lineage(&thread)),
            Scan::Names { thread } => Page::Names(store.names(&thread)),
            Scan::Leases => Page::Leases(store.leases.all()),
        })
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        self.writable()?.name(thread, naming)
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        self.writable()?.fork(from, at, to)
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        self.writable()?.delete(graph, thread)?;
        self.records.delete(thread);
        Ok(())
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseReply, StoreError> {
        self.store().leases.answer(request, (self.clock)())
    }

    fn fenced(&self, lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
        Some(Arc::new(Self { lease: Some(lease.clone()), ..self.clone() }))
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        Some(self.records.clone())
    }

    async fn watch(&self, Watch { since, .. }: Watch) -> Result<Mark, StoreError> {
        poll_fn(|context| {
            let mut store = self.store();
            match store.changes.mark() {
                now if since != Some(now) => Poll::Ready(Ok(now)),
                _ => {
                    store.changes.wake(context.waker());
                    Poll::Pending
                }
            }
        })
        .await
    }
}
