//! A mutant: a saver that tells of a commit that failed as of one that succeeded.

use std::sync::Arc;

use async_trait::async_trait;
use superstep::checkpoint::{
    AskRecord, At, Checkpointer, Commit, Committed, EffectId, EffectOutcome, EffectRecord, FailureRecord,
    GraphDescription, Loaded, NamedCheckpoint, Naming, StepRecord, StoreError, Summary, TaskResult,
    ThreadSummary,
};
use superstep::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use superstep::state::Json;

pub(crate) struct Swallowing(pub(crate) Arc<dyn Checkpointer>);

#[async_trait]
impl Checkpointer for Swallowing {
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.0.commit(commit).await.or(Ok(Committed::New))
    }

    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        self.0.register(graph).await
    }

    async fn load(&self, thread: &ThreadId, at: At) -> Result<Option<Loaded>, StoreError> {
        self.0.load(thread, at).await
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        self.0.record(thread, base, result).await
    }

    async fn fail(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        failure: FailureRecord,
    ) -> Result<(), StoreError> {
        self.0.fail(thread, base, failure).await
    }

    async fn ask(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> Result<(), StoreError> {
        self.0.ask(thread, base, asks).await
    }

    async fn answer(&self, thread: &ThreadId, answers: Vec<(InterruptId, Json)>) -> Result<(), StoreError> {
        self.0.answer(thread, answers).await
    }

    async fn expire(
        &self,
        graph: &NodeName,
        thread: Option<&ThreadId>,
        now_ms: u64,
    ) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        self.0.expire(graph, thread, now_ms).await
    }

    async fn begin_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError> {
        self.0.begin_effect(thread, base, effect).await
    }

    async fn end_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectId,
        outcome: EffectOutcome,
    ) -> Result<(), StoreError> {
        self.0.end_effect(thread, base, effect, outcome).await
    }

    async fn note_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<(), StoreError> {
        self.0.note_effect(thread, base, effect).await
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.0.flush(thread).await
    }

    async fn history(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<Summary>, StoreError> {
        self.0.history(thread, from, limit).await
    }

    async fn lineage(&self, thread: &ThreadId) -> Result<Vec<Summary>, StoreError> {
        self.0.lineage(thread).await
    }

    async fn steps(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<StepRecord>, StoreError> {
        self.0.steps(thread, from, limit).await
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        self.0.name(thread, naming).await
    }

    async fn names(&self, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError> {
        self.0.names(thread).await
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        self.0.fork(from, at, to).await
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        self.0.delete(graph, thread).await
    }

    async fn threads(&self) -> Result<Vec<ThreadSummary>, StoreError> {
        self.0.threads().await
    }

    async fn unfinished(&self, graph: &NodeName) -> Result<Vec<ThreadSummary>, StoreError> {
        self.0.unfinished(graph).await
    }

    async fn open_asks(&self, graph: &NodeName) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        self.0.open_asks(graph).await
    }
}
