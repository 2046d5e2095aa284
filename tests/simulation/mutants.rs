//! Stores with one defect each. The simulation must detect every one of them.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use superstep::checkpoint::{At, Checkpointer, CheckpointerExt, EffectRecord, GraphDescription, StoreError};
use superstep::driver::checkpoint::{
    Answered, Answers, Commit, Committed, EffectWrite, Load, Naming, Page, Scan, TaskResult, Work,
};
use superstep::id::{CheckpointId, NodeName, ThreadId};

/// The missing guard of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A commit moves the head from any checkpoint.
    NoCompareAndSwap,
    /// Every driver gets the reply that its own result counts, also at the commit.
    NoFirstWriter,
    /// A commit overlooks the records of other drivers.
    Overlooks,
    /// A commit is acknowledged before it is done.
    EarlyAcknowledgement,
    /// Every driver gets the reply that it is the first to begin an effect.
    NoIntent,
}

/// A store with a flaw.
pub(crate) struct Flawed {
    pub(crate) store: Arc<dyn Checkpointer>,
    pub(crate) flaw: Flaw,
    /// Acknowledged, but not yet done.
    late: Mutex<Option<Commit>>,
}

impl Flawed {
    pub(crate) fn new(store: Arc<dyn Checkpointer>, flaw: Flaw) -> Self {
        Self { store, flaw, late: Mutex::default() }
    }

    /// The machine of the store loses its memory.
    pub(crate) fn crash(&self) {
        drop(self.take_late());
    }

    fn take_late(&self) -> Option<Commit> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Executes the acknowledged commits.
    async fn ready(&self) -> &dyn Checkpointer {
        if let Some(commit) = self.take_late() {
            // The caller no longer waits for it.
            drop(self.store.commit(commit).await);
        }
        &*self.store
    }
}

#[async_trait]
impl Checkpointer for Flawed {
    async fn commit(&self, mut commit: Commit) -> Result<Committed, StoreError> {
        let store = self.ready().await;
        match self.flaw {
            Flaw::NoCompareAndSwap => {
                let head = store.read(&commit.thread, At::Head).await?;
                commit.expected = head.map(|head| head.checkpoint.id);
                store.commit(commit).await
            }
            Flaw::EarlyAcknowledgement => {
                let head = store.read(&commit.thread, At::Head).await?;
                if head.map(|head| head.checkpoint.id) != commit.expected {
                    return store.commit(commit).await;
                }
                *self.late.lock().unwrap_or_else(PoisonError::into_inner) = Some(commit);
                Ok(Committed::New)
            }
            Flaw::NoFirstWriter | Flaw::Overlooks => {
                commit.recorded = None;
                store.commit(commit).await
            }
            Flaw::NoIntent => store.commit(commit).await,
        }
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError> {
        let own = match &work {
            Work::Finished(result) if self.flaw == Flaw::NoFirstWriter => Some(result.clone()),
            _ => None,
        };
        let counts = self.ready().await.record(thread, base, work).await?;
        Ok(own.or(counts))
    }

    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        let held = self.ready().await.effect(thread, base, write).await?;
        Ok(held.filter(|_| self.flaw != Flaw::NoIntent))
    }

    // The store works correctly afterwards.

    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        self.ready().await.register(graph).await
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        self.ready().await.load(thread, at, known).await
    }

    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError> {
        self.ready().await.answer(answers).await
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.ready().await.flush(thread).await
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        self.ready().await.scan(scan).await
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        self.ready().await.name(thread, naming).await
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        self.ready().await.fork(from, at, to).await
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        self.ready().await.delete(graph, thread).await
    }
}
