//! The intent of an effect, while it is being stored.
//!
//! An attempt may be given up before it knows whether its intent is stored. The next attempt of the same task finds that out
//! first: an intent that it did not know of would be another run's to it, which nobody takes over.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::{Future, ready};
use core::pin::Pin;
use core::task::{Context, Poll};

use super::cell::TaskCell;
use crate::checkpoint::{Checkpointer, EffectId, EffectRecord, StoreError};
use crate::id::CheckpointId;

/// What the store says of an intent: the record that was there first, if there was one.
type Said = Result<Option<EffectRecord>, StoreError>;

/// An intent that somebody waits for. Dropped before it is stored, it is left behind for the next attempt.
pub(super) struct Storing {
    cell: Arc<TaskCell>,
    left: Option<LeftBehind>,
}

/// An intent that nobody waits for.
pub(crate) struct LeftBehind {
    intent: EffectRecord,
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
        Self { cell: Arc::clone(cell), left: Some(LeftBehind { intent, stored }) }
    }

    /// Goes on with one that was left behind.
    pub(super) fn go_on(cell: &Arc<TaskCell>, left: LeftBehind) -> Self {
        Self { cell: Arc::clone(cell), left: Some(left) }
    }
}

impl Future for Storing {
    /// The intent, and what the store says of it.
    type Output = (EffectRecord, Said);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let left = self.left.as_mut().expect("it is not asked once it has answered");
        let Poll::Ready(said) = left.stored.as_mut().poll(context) else { return Poll::Pending };
        let left = self.left.take().expect("it was there just now");
        Poll::Ready((left.intent, said))
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
    /// An intent that is stored.
    pub(super) fn stored(intent: EffectRecord) -> Self {
        Self { intent, stored: Box::pin(ready(Ok(None))) }
    }

    /// The effect.
    pub(crate) fn effect(&self) -> &EffectId {
        &self.intent.id
    }
}
