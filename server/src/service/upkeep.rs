//! Start and end of a service, and what it does in between: deadlines, expired threads, threads without rows.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use superstep_core::checkpoint::{Page, Scan, ThreadScan};
use superstep_core::records::{ExpiryStrategy, ThreadChange};
use tokio::task::JoinHandle;

use super::{Scope, Service};
use crate::wire::Failure;
use crate::wire::request::RunCreate;
use crate::work::Stop;

/// The interval of deadlines and of the number of pending runs.
const TICK: Duration = Duration::from_secs(1);

/// The number of ticks from one removal of what has expired to the next.
const SWEEP: u32 = 10;

/// The number of threads that are read at once.
const THREADS: usize = 256;

impl Service {
    /// Starts the workers, on the current tokio runtime. A server that only reads has none.
    pub(crate) fn start(&self) {
        if self.0.options.is_read_only {
            let service = self.clone();
            return self.spawn(async move { service.sweeps().await });
        }
        let work = Arc::clone(&self.0.worker).work();
        #[cfg(feature = "webhooks")]
        let work = {
            let calls = self.clone().call_webhooks();
            async move {
                tokio::join!(work, calls);
            }
        };
        self.spawn(work);
        let service = self.clone();
        self.spawn(async move { service.ticks().await });
        let service = self.clone();
        self.spawn(async move {
            if let Err(failure) = service.adopt_all().await {
                tracing::warn!(%failure, "the threads of the store could not be listed");
            }
        });
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(tokio::spawn(task));
    }

    /// Starts no more runs, ends the streams, lets running supersteps finish for this time, and gives unfinished runs
    /// back.
    pub(crate) async fn shutdown(&self, grace: Duration) {
        self.0.stop.cancel();
        self.0.worker.close();
        for control in self.0.worker.controls() {
            control.drain();
        }
        self.finished(grace).await;
        self.0.stopped.cancel();
    }

    /// Waits for the end of the workers, and cancels their runs after this time.
    async fn finished(&self, grace: Duration) {
        let mut tasks = std::mem::take(&mut *self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        if self.0.options.is_read_only {
            return tasks.iter().for_each(JoinHandle::abort);
        }
        if tasks.is_empty() {
            return;
        }
        let mut work = tasks.remove(0);
        for task in tasks {
            task.abort();
        }
        if tokio::time::timeout(grace, &mut work).await.is_err() {
            for control in self.0.worker.controls() {
                control.stop(Stop::GiveBack);
            }
            // A node that blocks its thread cannot be cancelled: its run is claimed again when the claim is over.
            drop(tokio::time::timeout(TICK, work).await);
        }
    }

    /// Removes unused logs from memory.
    async fn sweeps(&self) {
        let mut interval = tokio::time::interval(TICK * SWEEP);
        loop {
            interval.tick().await;
            self.0.hub.sweep();
        }
    }

    async fn ticks(&self) {
        let mut interval = tokio::time::interval(TICK);
        let mut count = 0_u32;
        loop {
            interval.tick().await;
            if let Err(failure) = self.tick(count.is_multiple_of(SWEEP)).await {
                tracing::warn!(%failure, "the upkeep of the server failed; it is tried again");
            }
            count = count.wrapping_add(1);
        }
    }

    /// Answers questions whose deadlines have passed, and continues their threads. `sweeps` also removes what has
    /// expired.
    async fn tick(&self, sweeps: bool) -> Result<(), Failure> {
        for graph in self.0.graphs.iter() {
            for (thread, _) in graph.tick().await? {
                self.continued(thread.as_str(), graph.name().as_str()).await?;
            }
        }
        self.start_due().await?;
        let (pending, _) = self.open_runs().await?;
        self.0.pending.store(pending, Ordering::Relaxed);
        if sweeps {
            self.0.hub.sweep();
            self.sweep().await?;
        }
        Ok(())
    }

    /// Creates a run that continues a thread.
    async fn continued(&self, thread: &str, graph: &str) -> Result<(), Failure> {
        let request =
            RunCreate::read(&serde_json::json!({ "assistant_id": graph, "multitask_strategy": "enqueue" }))?;
        self.create_run(&Scope::default(), Some(thread), request).await.map(drop)
    }

    /// Removes threads whose time has come.
    async fn sweep(&self) -> Result<(), Failure> {
        let now = self.now_ms();
        for row in self.0.records.sweep(now, THREADS).await? {
            match row.expiry.map(|expiry| expiry.strategy) {
                Some(ExpiryStrategy::KeepLatest) => {
                    let change = ThreadChange { expiry: Some(None), ..ThreadChange::default() };
                    if let Err(failure) = self.keep_latest(std::slice::from_ref(&row)).await {
                        tracing::warn!(%failure, thread = %row.id, "an expired thread keeps its checkpoints");
                    }
                    self.0.records.change_thread(&row.id, change, now).await?;
                }
                _ => self.remove(&row).await?,
            }
        }
        Ok(())
    }

    /// Stores rows of the threads that programs began without a server.
    pub(super) async fn adopt_all(&self) -> Result<(), Failure> {
        let Some(saver) = self.0.graphs.iter().find_map(|graph| graph.saver()) else { return Ok(()) };
        let mut after = None;
        loop {
            let scan = ThreadScan { after, limit: Some(THREADS), ..ThreadScan::default() };
            let Page::Threads(page) = saver.scan(Scan::Threads(scan)).await? else { return Ok(()) };
            for summary in &page {
                let is_served = self.0.graphs.named(&summary.graph).is_some();
                if is_served && self.0.records.thread(&summary.thread).await?.is_none() {
                    self.adopted(&summary.thread).await?;
                }
            }
            match page.last().filter(|_| page.len() == THREADS) {
                Some(last) => after = Some(last.thread.clone()),
                None => return Ok(()),
            }
            tokio::task::yield_now().await;
        }
    }
}
