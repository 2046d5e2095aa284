//! A checkpointer that reads but does not write: a replay's writes are kept aside.

use std::boxed::Box;
use std::format;
use std::sync::Arc;
use std::vec::Vec;

use async_trait::async_trait;
use spin::Mutex;

use crate::checkpoint::{
    Answered, Answers, AskRecord, At, Checkpoint, Checkpointer, Commit, Committed, EffectRecord, EffectWrite,
    GraphDescription, Load, Naming, Page, Scan, StoreError, TaskResult, Work,
};
use crate::id::{CheckpointId, NodeName, ThreadId};

/// A checkpointer that reads from `inner` and keeps aside the results of one superstep.
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

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        self.inner.load(thread, at, known).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        *self.checkpoint.lock() = Some(commit.checkpoint);
        Ok(Committed::New)
    }

    async fn record(
        &self,
        _thread: &ThreadId,
        _base: CheckpointId,
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError> {
        match work {
            Work::Finished(result) => return Ok(Some(result)),
            Work::Failure(_) => {}
            Work::Asks(asks) => *self.asked.lock() = asks,
        }
        Ok(None)
    }

    async fn effect(
        &self,
        _thread: &ThreadId,
        _base: CheckpointId,
        _write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        refused("run effects")
    }

    async fn answer(&self, _answers: Answers) -> Result<Answered, StoreError> {
        refused("answer questions")
    }

    async fn flush(&self, _thread: &ThreadId) -> Result<(), StoreError> {
        Ok(())
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        self.inner.scan(scan).await
    }

    async fn name(&self, _thread: &ThreadId, _naming: Naming) -> Result<(), StoreError> {
        refused("name checkpoints")
    }

    async fn fork(&self, _from: &ThreadId, _at: CheckpointId, _to: &ThreadId) -> Result<(), StoreError> {
        refused("make threads")
    }

    async fn delete(&self, _graph: &NodeName, _thread: &ThreadId) -> Result<(), StoreError> {
        refused("delete threads")
    }
}
