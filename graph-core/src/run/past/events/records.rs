//! The checkpoints of one thread, oldest first, read page by page.

use std::sync::Arc;
use std::vec::Vec;

use alloc::string::ToString;

use crate::checkpoint::{At, Checkpointer, CheckpointerExt, StepRecord, StoreError};
use crate::id::{CheckpointId, NodeName, ThreadId};

/// The number of checkpoints read at a time.
const PAGE: usize = 64;

/// A range of checkpoints of a thread.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// The graph to which the thread must belong.
    pub(super) graph: NodeName,
    pub(super) thread: ThreadId,
    /// The last checkpoint.
    pub(super) to: At,
    /// The first checkpoint; `None` for all of them.
    pub(super) from: Option<CheckpointId>,
    /// `true` for checkpoints of the thread itself only, without those of a shared past.
    pub(super) own: bool,
}

/// The checkpoints in a span.
pub(super) struct Records {
    saver: Arc<dyn Checkpointer>,
    span: Span,
    is_planned: bool,
    /// The newest checkpoints of the pages that are not read yet, the oldest page last.
    pages: Vec<CheckpointId>,
    /// The current page, newest first.
    page: Vec<StepRecord>,
    /// The parent of the next checkpoint.
    pub(super) base: Option<StepRecord>,
}

impl Records {
    pub(super) fn new(saver: Arc<dyn Checkpointer>, span: Span) -> Self {
        Self { saver, span, is_planned: false, pages: Vec::new(), page: Vec::new(), base: None }
    }

    pub(super) fn thread(&self) -> &ThreadId {
        &self.span.thread
    }

    /// Returns the next checkpoint. The caller must make it the base of the following one.
    pub(super) async fn next(&mut self) -> Result<Option<StepRecord>, StoreError> {
        self.plan_once().await?;
        if self.page.is_empty()
            && let Some(newest) = self.pages.pop()
        {
            self.page = self.saver.steps(&self.span.thread, At::Id(newest), PAGE).await?;
        }
        Ok(self.page.pop())
    }

    pub(super) async fn plan_once(&mut self) -> Result<(), StoreError> {
        if self.is_planned {
            return Ok(());
        }
        self.plan().await?;
        self.is_planned = true;
        Ok(())
    }

    /// Walks back to the first checkpoint. Only the last page on the way is kept.
    async fn plan(&mut self) -> Result<(), StoreError> {
        let mut at = self.span.to.clone();
        loop {
            let mut page = self.saver.steps(&self.span.thread, at, PAGE).await?;
            let Some(newest) = page.first() else { return Ok(()) };
            self.check(newest)?;
            let newest = newest.checkpoint.id;
            if let Some(first) = self.first_in(&page) {
                let mut older = page.split_off(first);
                self.page = page;
                self.base = match older.is_empty() {
                    true => self.parent_of_last().await?,
                    false => Some(older.swap_remove(0)),
                };
                return Ok(());
            }
            let parent = page.last().and_then(|oldest| oldest.checkpoint.parent);
            let Some(parent) = parent else {
                self.page = page;
                return match self.span.from {
                    None => Ok(()),
                    Some(from) => Err(StoreError::NoCheckpoint {
                        thread: self.span.thread.clone(),
                        checkpoint: from.to_string(),
                    }),
                };
            };
            self.pages.push(newest);
            at = At::Id(parent);
        }
    }

    /// Returns the number of checkpoints of a page, newest first, that belong to the span; `None` if the span does
    /// not begin in this page.
    fn first_in(&self, page: &[StepRecord]) -> Option<usize> {
        let foreign = page.iter().position(|record| self.span.own && record.thread != self.span.thread);
        let from = page.iter().position(|record| Some(record.checkpoint.id) == self.span.from);
        foreign.or(from.map(|from| from + 1))
    }

    async fn parent_of_last(&self) -> Result<Option<StepRecord>, StoreError> {
        let Some(parent) = self.page.last().and_then(|oldest| oldest.checkpoint.parent) else {
            return Ok(None);
        };
        let mut parent = self.saver.steps(&self.span.thread, At::Id(parent), 1).await?;
        Ok(parent.pop())
    }

    fn check(&self, record: &StepRecord) -> Result<(), StoreError> {
        if record.graph == self.span.graph {
            return Ok(());
        }
        Err(StoreError::WrongGraph {
            thread: self.span.thread.clone(),
            expected: self.span.graph.to_string(),
            found: record.graph.to_string(),
        })
    }
}
