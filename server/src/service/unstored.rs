//! Rows that a server that only reads shows and does not store: the default assistants of its graphs, and the threads of
//! programs that ran without a server.

use std::sync::PoisonError;

use superstep_core::checkpoint::{Page, Scan, ThreadScan};
use superstep_core::id::ThreadId;
use superstep_core::records::{AssistantQuery, AssistantRow, Found, ThreadQuery, ThreadRow};

use super::Service;
use crate::wire::Failure;

/// The number of threads that are read at once.
const THREADS: usize = 256;

impl Service {
    /// Returns the current version of an assistant.
    pub(super) async fn current_assistant(&self, id: &str) -> Result<Option<AssistantRow>, Failure> {
        let defaults = self.defaults().await?;
        let row = self.0.records.assistant(id).await?;
        let default = || defaults.iter().find(|row| row.id == id).cloned();
        Ok(row.or_else(|| default().filter(|_| self.0.options.is_read_only)))
    }

    /// Finds assistants.
    pub(super) async fn found_assistants(
        &self,
        query: &AssistantQuery,
    ) -> Result<Found<AssistantRow>, Failure> {
        let defaults = self.defaults().await?;
        if !self.0.options.is_read_only {
            return Ok(self.0.records.assistants(query).await?);
        }
        let all = AssistantQuery { limit: usize::MAX, ..AssistantQuery::default() };
        let mut rows = self.0.records.assistants(&all).await?.rows;
        let unstored = defaults.iter().filter(|row| !rows.iter().any(|stored| stored.id == row.id));
        let unstored: Vec<_> = unstored.cloned().collect();
        rows.extend(unstored);
        Ok(query.page(rows))
    }

    /// Finds threads.
    pub(super) async fn found_threads(&self, query: &ThreadQuery) -> Result<Found<ThreadRow>, Failure> {
        let unstored = match self.0.options.is_read_only {
            true => self.unstored_threads().await?,
            false => Vec::new(),
        };
        if unstored.is_empty() {
            return Ok(self.0.records.threads(query).await?);
        }
        let all = ThreadQuery { offset: 0, limit: usize::MAX, ..query.clone() };
        let stored = self.0.records.threads(&all).await?.rows;
        Ok(query.page(stored.into_iter().chain(unstored)))
    }

    /// Returns rows for the threads of the graphs that have none.
    async fn unstored_threads(&self) -> Result<Vec<ThreadRow>, Failure> {
        let Some(saver) = self.0.graphs.iter().find_map(|graph| graph.saver()) else { return Ok(Vec::new()) };
        let counts = ThreadQuery::default();
        let has_rows = self.0.records.threads(&counts).await?.total > 0;
        let (mut unstored, mut after) = (Vec::new(), None);
        loop {
            let scan = ThreadScan { after, limit: Some(THREADS), ..ThreadScan::default() };
            let Page::Threads(page) = saver.scan(Scan::Threads(scan)).await? else { return Ok(unstored) };
            for summary in &page {
                let is_served = self.0.graphs.named(&summary.graph).is_some();
                if !is_served || (has_rows && self.has_row(&summary.thread).await?) {
                    continue;
                }
                let leads_on = !summary.head.next.is_empty();
                let at_ms = summary.head.created_ms;
                unstored.push(self.row_of_head(&summary.thread, &summary.graph, at_ms, leads_on));
            }
            match page.last().filter(|_| page.len() == THREADS) {
                Some(last) => after = Some(last.thread.clone()),
                None => return Ok(unstored),
            }
        }
    }

    /// Returns `true` if a thread has a row. Rows are only deleted together with their threads.
    async fn has_row(&self, thread: &ThreadId) -> Result<bool, Failure> {
        if self.0.with_rows.lock().unwrap_or_else(PoisonError::into_inner).contains(thread) {
            return Ok(true);
        }
        let has_row = self.0.records.thread(thread).await?.is_some();
        if has_row {
            self.0.with_rows.lock().unwrap_or_else(PoisonError::into_inner).insert(thread.clone());
        }
        Ok(has_row)
    }
}
