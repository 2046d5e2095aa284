//! A store that fails on demand.

use async_trait::async_trait;
use superstep::checkpoint::{
    Answered, Answers, At, Checkpointer, Commit, Committed, EffectRecord, EffectWrite, GraphDescription,
    Load, MemorySaver, Naming, Page, Scan, StoreError, TaskResult, Work,
};
use superstep::id::{CheckpointId, NodeName, ThreadId};

use super::stage::{Moment, Shared};

/// The error of a call that fails.
pub(crate) const FAILURE: &str = "the store was told to fail";

/// A [`MemorySaver`] with one call that fails when the stage requests it.
pub(crate) struct Failing {
    inner: MemorySaver,
    stage: Shared,
}

impl Failing {
    pub(crate) fn new(stage: Shared) -> Self {
        Self { inner: MemorySaver::new(), stage }
    }

    async fn call<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let fails = self.stage.store_call();
        if fails == Some(Moment::Before) {
            return Err(failure());
        }
        let done = work.await?;
        if fails == Some(Moment::After) { Err(failure()) } else { Ok(done) }
    }
}

fn failure() -> StoreError {
    StoreError::Io(FAILURE.into())
}

#[async_trait]
impl Checkpointer for Failing {
    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        self.call(self.inner.register(graph)).await
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        self.call(self.inner.load(thread, at, known)).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.call(self.inner.commit(commit)).await
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError> {
        self.call(self.inner.record(thread, base, work)).await
    }

    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        self.call(self.inner.effect(thread, base, write)).await
    }

    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError> {
        self.call(self.inner.answer(answers)).await
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.call(self.inner.flush(thread)).await
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        self.call(self.inner.scan(scan)).await
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        self.call(self.inner.name(thread, naming)).await
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        self.call(self.inner.fork(from, at, to)).await
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        self.call(self.inner.delete(graph, thread)).await
    }
}
