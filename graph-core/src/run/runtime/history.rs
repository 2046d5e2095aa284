//! A thread's checkpoints, read page by page.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::vec::Vec;

use super::thread_error::ThreadError;
use crate::checkpoint::{At, Checkpointer, CheckpointerExt, Summary};
use crate::id::ThreadId;

/// The number of checkpoints on the first page. Each further page has twice as many, up to [`LARGEST_PAGE`].
const PAGE: usize = 64;
const LARGEST_PAGE: usize = 4096;

/// A thread's checkpoints, newest first, read page by page.
pub struct History {
    saver: Arc<dyn Checkpointer>,
    thread: ThreadId,
    page: VecDeque<Summary>,
    /// The start and the size of the next page; `None` at the end.
    next: Option<(At, usize)>,
}

impl History {
    pub(crate) fn new(saver: Arc<dyn Checkpointer>, thread: ThreadId, from: At) -> Self {
        Self { saver, thread, page: VecDeque::new(), next: Some((from, PAGE)) }
    }

    /// Returns the next older checkpoint; `None` after the first one of the thread.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn next(&mut self) -> Result<Option<Summary>, ThreadError> {
        if self.page.is_empty()
            && let Some((from, limit)) = &self.next
        {
            let page = self.saver.history(&self.thread, from.clone(), *limit).await?;
            let parent = page.last().and_then(|oldest| oldest.parent);
            self.next = parent.map(|parent| (At::Id(parent), (2 * limit).min(LARGEST_PAGE)));
            self.page = page.into();
        }
        Ok(self.page.pop_front())
    }

    /// Reads all remaining checkpoints.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn collect(mut self) -> Result<Vec<crate::checkpoint::Summary>, ThreadError> {
        let mut all = Vec::new();
        // Small pages are for those who stop early.
        self.next = self.next.map(|(from, _)| (from, LARGEST_PAGE));
        while let Some(summary) = self.next().await? {
            all.push(summary);
        }
        Ok(all)
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("thread", &self.thread).finish_non_exhaustive()
    }
}
