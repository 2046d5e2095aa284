//! Stores that are broken in one way each. The simulation must notice every one of them.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use superstep::checkpoint::{
    AskRecord, At, Checkpointer, Commit, Committed, EffectId, EffectOutcome, EffectRecord, FailureRecord,
    GraphDescription, Loaded, NamedCheckpoint, Naming, StepRecord, StoreError, Summary, TaskResult,
    ThreadSummary,
};
use superstep::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use superstep::state::Json;

/// What is missing in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A commit moves the head whatever it is.
    NoCompareAndSwap,
    /// Everyone is told that their own result is the one that counts, also at the commit.
    NoFirstWriter,
    /// A commit overlooks what others have recorded meanwhile.
    Overlooks,
    /// A commit is acknowledged before it is done.
    EarlyAcknowledgement,
    /// Everyone is told that they are the first to begin an effect.
    NoIntent,
}

/// A store with a flaw.
pub(crate) struct Flawed {
    pub(crate) store: Arc<dyn Checkpointer>,
    pub(crate) flaw: Flaw,
    /// Acknowledged, and not yet done.
    late: Mutex<Option<Commit>>,
}

impl Flawed {
    pub(crate) fn new(store: Arc<dyn Checkpointer>, flaw: Flaw) -> Self {
        Self { store, flaw, late: Mutex::default() }
    }

    /// The machine of the store loses what it has in memory.
    pub(crate) fn crash(&self) {
        drop(self.take_late());
    }

    fn take_late(&self) -> Option<Commit> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Catches up with what was acknowledged.
    async fn ready(&self) -> &dyn Checkpointer {
        if let Some(commit) = self.take_late() {
            // Whoever waited for it has gone on.
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
                let head = store.load(&commit.thread, At::Head).await?;
                commit.expected = head.map(|head| head.checkpoint.id);
                store.commit(commit).await
            }
            Flaw::EarlyAcknowledgement => {
                let head = store.load(&commit.thread, At::Head).await?;
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
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        let counts = self.ready().await.record(thread, base, result.clone()).await?;
        Ok(if self.flaw == Flaw::NoFirstWriter { result } else { counts })
    }

    async fn begin_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError> {
        let held = self.ready().await.begin_effect(thread, base, effect).await?;
        Ok(held.filter(|_| self.flaw != Flaw::NoIntent))
    }

    // What follows is as it should be.

    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        self.ready().await.register(graph).await
    }

    async fn load(&self, thread: &ThreadId, at: At) -> Result<Option<Loaded>, StoreError> {
        self.ready().await.load(thread, at).await
    }

    async fn fail(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        failure: FailureRecord,
    ) -> Result<(), StoreError> {
        self.ready().await.fail(thread, base, failure).await
    }

    async fn ask(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> Result<(), StoreError> {
        self.ready().await.ask(thread, base, asks).await
    }

    async fn answer(&self, thread: &ThreadId, answers: Vec<(InterruptId, Json)>) -> Result<(), StoreError> {
        self.ready().await.answer(thread, answers).await
    }

    async fn expire(
        &self,
        graph: &NodeName,
        thread: Option<&ThreadId>,
        now_ms: u64,
    ) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        self.ready().await.expire(graph, thread, now_ms).await
    }

    async fn end_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectId,
        outcome: EffectOutcome,
    ) -> Result<(), StoreError> {
        self.ready().await.end_effect(thread, base, effect, outcome).await
    }

    async fn note_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<(), StoreError> {
        self.ready().await.note_effect(thread, base, effect).await
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.ready().await.flush(thread).await
    }

    async fn history(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<Summary>, StoreError> {
        self.ready().await.history(thread, from, limit).await
    }

    async fn lineage(&self, thread: &ThreadId) -> Result<Vec<Summary>, StoreError> {
        self.ready().await.lineage(thread).await
    }

    async fn steps(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<StepRecord>, StoreError> {
        self.ready().await.steps(thread, from, limit).await
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        self.ready().await.name(thread, naming).await
    }

    async fn names(&self, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError> {
        self.ready().await.names(thread).await
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        self.ready().await.fork(from, at, to).await
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        self.ready().await.delete(graph, thread).await
    }

    async fn threads(&self) -> Result<Vec<ThreadSummary>, StoreError> {
        self.ready().await.threads().await
    }

    async fn unfinished(&self, graph: &NodeName) -> Result<Vec<ThreadSummary>, StoreError> {
        self.ready().await.unfinished(graph).await
    }

    async fn open_asks(&self, graph: &NodeName) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        self.ready().await.open_asks(graph).await
    }
}
