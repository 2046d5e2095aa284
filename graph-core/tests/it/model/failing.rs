//! A store that fails on demand.

use async_trait::async_trait;
use superstep::checkpoint::{
    AskRecord, At, Checkpointer, Commit, Committed, EffectId, EffectOutcome, EffectRecord, FailureRecord,
    GraphDescription, Loaded, MemorySaver, NamedCheckpoint, Naming, StepRecord, StoreError, Summary,
    TaskResult, ThreadSummary,
};
use superstep::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use superstep::state::Json;

use super::stage::{Moment, Shared};

/// What a call that fails says.
pub(crate) const FAILURE: &str = "the store was told to fail";

/// A [`MemorySaver`] of which one call fails, when the stage says so.
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

    async fn load(&self, thread: &ThreadId, at: At) -> Result<Option<Loaded>, StoreError> {
        self.call(self.inner.load(thread, at)).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.call(self.inner.commit(commit)).await
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        self.call(self.inner.record(thread, base, result)).await
    }

    async fn fail(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        failure: FailureRecord,
    ) -> Result<(), StoreError> {
        self.call(self.inner.fail(thread, base, failure)).await
    }

    async fn ask(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> Result<(), StoreError> {
        self.call(self.inner.ask(thread, base, asks)).await
    }

    async fn answer(&self, thread: &ThreadId, answers: Vec<(InterruptId, Json)>) -> Result<(), StoreError> {
        self.call(self.inner.answer(thread, answers)).await
    }

    async fn expire(
        &self,
        graph: &NodeName,
        thread: Option<&ThreadId>,
        now_ms: u64,
    ) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        self.call(self.inner.expire(graph, thread, now_ms)).await
    }

    async fn begin_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError> {
        self.call(self.inner.begin_effect(thread, base, effect)).await
    }

    async fn end_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectId,
        outcome: EffectOutcome,
    ) -> Result<(), StoreError> {
        self.call(self.inner.end_effect(thread, base, effect, outcome)).await
    }

    async fn note_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<(), StoreError> {
        self.call(self.inner.note_effect(thread, base, effect)).await
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.call(self.inner.flush(thread)).await
    }

    async fn history(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<Summary>, StoreError> {
        self.call(self.inner.history(thread, from, limit)).await
    }

    async fn lineage(&self, thread: &ThreadId) -> Result<Vec<Summary>, StoreError> {
        self.call(self.inner.lineage(thread)).await
    }

    async fn steps(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<StepRecord>, StoreError> {
        self.call(self.inner.steps(thread, from, limit)).await
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        self.call(self.inner.name(thread, naming)).await
    }

    async fn names(&self, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError> {
        self.call(self.inner.names(thread)).await
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        self.call(self.inner.fork(from, at, to)).await
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        self.call(self.inner.delete(graph, thread)).await
    }

    async fn threads(&self) -> Result<Vec<ThreadSummary>, StoreError> {
        self.call(self.inner.threads()).await
    }

    async fn unfinished(&self, graph: &NodeName) -> Result<Vec<ThreadSummary>, StoreError> {
        self.call(self.inner.unfinished(graph)).await
    }

    async fn open_asks(&self, graph: &NodeName) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        self.call(self.inner.open_asks(graph)).await
    }
}
