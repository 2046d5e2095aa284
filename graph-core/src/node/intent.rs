//! The intent or the outcome of an effect, while it is being stored.
//!
//! An attempt may be abandoned before it knows whether its intent is stored. The next attempt of the same task
//! first finishes storing it: otherwise it would take the intent for that of another run, which is never taken
//! over. It also finishes storing an outcome, which would otherwise be unknown.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::{Future, ready};
use core::pin::Pin;
use core::task::{Context, Poll};

use super::cell::TaskCell;
use crate::checkpoint::{Checkpointer, CheckpointerExt, EffectId, EffectRecord, StoreError};
use crate::id::CheckpointId;

/// The store's reply to an intent: the existing record, if there is one.
type Said = Result<Option<EffectRecord>, StoreError>;

/// A record that is being stored. If it is dropped before that, it is left behind for the next attempt.
pub(super) struct Storing {
    cell: Arc<TaskCell>,
    left: Option<LeftBehind>,
}

/// A record that was being stored when its attempt was abandoned.
pub(crate) struct LeftBehind {
    record: EffectRecord,
    stored: Pin<Box<dyn Future<Output = Said> + Send>>,
}

impl Storing {
    /// Stores an intent.
    pub(super) fn new(
        cell: &Arc<TaskCell>,
        saver: Arc<dyn Checkpointer>,
        base: CheckpointId,
        intent: EffectRecord,
    ) -> Self {
        let (thread, record) = (cell.run.thread.clone(), intent.clone());
        let stored = Box::pin(async move { saver.begin_effect(&thread, base, record).await });
        Self::go_on(cell, LeftBehind { record: intent, stored })
    }

    /// Stores the outcome of an effect.
    pub(super) fn outcome(
        cell: &Arc<TaskCell>,
        saver: Arc<dyn Checkpointer>,
        base: CheckpointId,
        ended: EffectRecord,
    ) -> Self {
        let (thread, EffectRecord { id, outcome, .. }) = (cell.run.thread.clone(), ended.clone());
        let outcome = outcome.expect("an effect that ended has an outcome");
        let stored = Box::pin(async move {
            saver.end_effect(&thread, base, &id, outcome).await?;
            Ok(None)
        });
        Self::go_on(cell, LeftBehind { record: ended, stored })
    }

    /// Continues storing a record that was left behind.
    pub(super) fn go_on(cell: &Arc<TaskCell>, left: LeftBehind) -> Self {
        Self { cell: Arc::clone(cell), left: Some(left) }
    }
}

impl Future for Storing {
    /// The record, and the store's reply.
    type Output = (EffectRecord, Said);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let left = self.left.as_mut().expect("it is not asked once it has answered");
        let Poll::Ready(said) = left.stored.as_mut().poll(context) else { return Poll::Pending };
        let left = self.left.take().expect("it was there just now");
        Poll::Ready((left.record, said))
    }
}

impl Drop for Storing {
    fn drop(&mut self) {
        if let Some(left) = self.left.take() {
            self.cell.leave_behind(left);
        }
    }
}

impl LeftBehind {
    /// Creates a left-behind intent that is already stored.
    pub(super) fn stored(intent: EffectRecord) -> Self {
        Self { record: intent, stored: Box::pin(ready(Ok(None))) }
    }

    /// Returns the effect.
    pub(crate) fn effect(&self) -> &EffectId {
        &self.record.id
    }

    /// Returns `true` if the record is an outcome.
    pub(super) fn is_outcome(&self) -> bool {
        self.record.outcome.is_some()
    }
}
