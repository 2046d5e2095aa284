//! The checkpoints of one thread, oldest first, read page by page.

use std::sync::Arc;
use std::vec::Vec;

use alloc::string::ToString;

use crate::checkpoint::{At, Checkpointer, CheckpointerExt, StepRecord, StoreError};
use crate::id::{CheckpointId, NodeName, ThreadId};

/// The number of checkpoints read at a time.
const PAGE: usize = 64;

/// Which checkpoints of a thread.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// The graph that the thread must be of.
    pub(super) graph: NodeName,
    pub(super) thread: ThreadId,
    /// The last one.
    pub(super) to: At,
    /// The first one; all, where there is none.
    pub(super) from: Option<CheckpointId>,
    /// Only those that were written on the thread itself, not those of a past that it shares.
    pub(super) own: bool,
}

/// The checkpoints of a span.
pub(super) struct Records {
    saver: Arc<dyn Checkpointer>,
    span: Span,
    is_planned: bool,
    /// The newest checkpoints of the pages that are still to be read, the oldest page last.
    pages: Vec<CheckpointId>,
    /// The page that is read, newest first.
    page: Vec<StepRecord>,
    /// The checkpoint that the next one continues.
    pub(super) base: Option<StepRecord>,
}

impl Records {
    pub(super) fn new(saver: Arc<dyn Checkpointer>, span: Span) -> Self {
        Self { saver, span, is_planned: false, pages: Vec::new(), page: Vec::new(), base: None }
    }

    pub(super) fn thread(&self) -> &ThreadId {
        &self.span.thread
    }

    /// The next checkpoint, which the caller makes the base of the one after it.
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

    /// Walks back to the first checkpoint. Of the pages on the way only the last is kept.
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

    /// Returns how many checkpoints of a page, newest first, belong to the span; `None` if the span does not begin in
    /// this page.
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
