//! A checkpointer that reads and does not write: what a replay hands to it is kept aside.

use std::boxed::Box;
use std::format;
use std::sync::Arc;
use std::vec::Vec;

use async_trait::async_trait;
use spin::Mutex;

use crate::checkpoint::{
    AskRecord, At, Checkpoint, Checkpointer, Commit, Committed, EffectId, EffectOutcome, EffectRecord,
    FailureRecord, GraphDescription, Loaded, NamedCheckpoint, Naming, StepRecord, StoreError, Summary,
    TaskResult, ThreadSummary,
};
use crate::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use crate::state::Json;

/// What came out of one superstep.
pub(super) struct Silent {
    inner: Arc<dyn Checkpointer>,
    pub(super) checkpoint: Mutex<Option<Arc<Checkpoint>>>,
    /// Questions that have no recorded answer.
    pub(super) asked: Mutex<Vec<AskRecord>>,
}

impl Silent {
    pub(super) fn new(inner: Arc<dyn Checkpointer>) -> Self {
        Self { inner, checkpoint: Mutex::default(), asked: Mutex::default() }
    }
}

fn refused<T>(what: &str) -> Result<T, StoreError> {
    Err(StoreError::Io(format!("a replay does not {what}").into()))
}

#[async_trait]
impl Checkpointer for Silent {
    async fn register(&self, _graph: &GraphDescription) -> Result<(), StoreError> {
        Ok(())
    }

    async fn load(&self, thread: &ThreadId, at: At) -> Result<Option<Loaded>, StoreError> {
        self.inner.load(thread, at).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        *self.checkpoint.lock() = Some(commit.checkpoint);
        Ok(Committed::New)
    }

    async fn record(
        &self,
        _thread: &ThreadId,
        _base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        Ok(result)
    }

    async fn fail(
        &self,
        _thread: &ThreadId,
        _base: CheckpointId,
        _failure: FailureRecord,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn ask(
        &self,
        _thread: &ThreadId,
        _base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> Result<(), StoreError> {
        *self.asked.lock() = asks;
        Ok(())
    }

    async fn answer(&self, _thread: &ThreadId, _answers: Vec<(InterruptId, Json)>) -> Result<(), StoreError> {
        refused("answer questions")
    }

    async fn expire(
        &self,
        _graph: &NodeName,
        _thread: Option<&ThreadId>,
        _now_ms: u64,
    ) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        refused("answer questions")
    }

    async fn begin_effect(
        &self,
        _thread: &ThreadId,
        _base: CheckpointId,
        _effect: EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError> {
        refused("run effects")
    }

    async fn end_effect(
        &self,
        _thread: &ThreadId,
        _base: CheckpointId,
        _effect: &EffectId,
        _outcome: EffectOutcome,
    ) -> Result<(), StoreError> {
        refused("run effects")
    }

    async fn note_effect(
        &self,
        _thread: &ThreadId,
        _base: CheckpointId,
        _effect: EffectRecord,
    ) -> Result<(), StoreError> {
        refused("run effects")
    }

    async fn flush(&self, _thread: &ThreadId) -> Result<(), StoreError> {
        Ok(())
    }

    async fn history(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<Summary>, StoreError> {
        self.inner.history(thread, from, limit).await
    }

    async fn lineage(&self, thread: &ThreadId) -> Result<Vec<Summary>, StoreError> {
        self.inner.lineage(thread).await
    }

    async fn steps(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<StepRecord>, StoreError> {
        self.inner.steps(thread, from, limit).await
    }

    async fn name(&self, _thread: &ThreadId, _naming: Naming) -> Result<(), StoreError> {
        refused("name checkpoints")
    }

    async fn names(&self, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError> {
        self.inner.names(thread).await
    }

    async fn fork(&self, _from: &ThreadId, _at: CheckpointId, _to: &ThreadId) -> Result<(), StoreError> {
        refused("make threads")
    }

    async fn delete(&self, _graph: &NodeName, _thread: &ThreadId) -> Result<(), StoreError> {
        refused("delete threads")
    }

    async fn threads(&self) -> Result<Vec<ThreadSummary>, StoreError> {
        self.inner.threads().await
    }

    async fn unfinished(&self, graph: &NodeName) -> Result<Vec<ThreadSummary>, StoreError> {
        self.inner.unfinished(graph).await
    }

    async fn open_asks(&self, graph: &NodeName) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        self.inner.open_asks(graph).await
    }
}
