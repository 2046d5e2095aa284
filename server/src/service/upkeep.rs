//! Start and end of a service, and what it does in between: deadlines, expired threads, threads without rows.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use superstep_core::checkpoint::{Page, Scan, ThreadScan};
use superstep_core::id::ThreadId;
use superstep_core::records::{ExpiryStrategy, RunQuery, Signal, ThreadChange, ThreadRow};
use superstep_core::run::AnyGraph;
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
        self.listen();
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

    /// Listens to other processes with the same rows.
    fn listen(&self) {
        let service = Arc::downgrade(&self.0);
        self.0.records.listen(Box::new(move |signal| {
            let Some(service) = service.upgrade() else { return false };
            match signal {
                Signal::Open => {
                    service.hub.signalled(true);
                    service.worker.wake();
                }
                Signal::Closed => service.hub.signalled(false),
                Signal::Queue => service.worker.wake(),
                Signal::Thread(thread) => {
                    service.hub.wake(&thread);
                    service.worker.signalled(&thread);
                }
            }
            !service.stopped.is_cancelled()
        }));
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
        let (mut count, mut answered) = (0_u32, Vec::new());
        loop {
            interval.tick().await;
            if let Err(failure) = self.tick(count.is_multiple_of(SWEEP), &mut answered).await {
                tracing::warn!(%failure, "the upkeep of the server failed; it is tried again");
            }
            count = count.wrapping_add(1);
        }
    }

    /// Answers questions whose deadlines have passed, and continues their threads. `answered` has those that could not be
    /// continued yet. `sweeps` also removes what has expired.
    async fn tick<'s>(
        &'s self,
        sweeps: bool,
        answered: &mut Vec<(ThreadId, &'s AnyGraph)>,
    ) -> Result<(), Failure> {
        for graph in self.0.graphs.iter() {
            answered.extend(graph.tick().await?.into_iter().map(|(thread, _)| (thread, graph)));
        }
        for (thread, graph) in std::mem::take(answered) {
            let Err(failure) = self.continued(&thread, graph).await else { continue };
            tracing::warn!(%failure, %thread, "a thread cannot be continued after a deadline of its question");
            // Its question is answered: no later tick of the graph returns the thread.
            if failure.status == 429 || failure.status >= 500 {
                answered.push((thread, graph));
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

    /// Creates a run that continues a thread, with the assistant of its last run.
    async fn continued(&self, thread: &ThreadId, graph: &AnyGraph) -> Result<(), Failure> {
        let query = RunQuery { thread: Some(thread.clone()), statuses: Vec::new(), offset: 0, limit: 1 };
        let last = self.0.records.runs(&query).await?.rows.pop().map(|run| run.assistant);
        let known = match &last {
            Some(id) => self.current_assistant(id).await?.filter(|row| row.graph == *graph.name()),
            None => None,
        };
        let assistant = known.map_or_else(|| graph.name().to_string(), |row| row.id);
        let request = RunCreate::read(
            &serde_json::json!({ "assistant_id": assistant, "multitask_strategy": "enqueue" }),
        )?;
        self.create_run(&Scope::default(), Some(thread.as_str()), request).await.map(drop)
    }

    /// Removes threads whose time has come.
    async fn sweep(&self) -> Result<(), Failure> {
        let now = self.now_ms();
        for row in self.0.records.sweep(now, THREADS).await? {
            // The thread may be of a graph that another process serves.
            if let Err(failure) = self.expired(&row, now).await {
                tracing::warn!(%failure, thread = %row.id, "an expired thread could not be removed");
            }
        }
        Ok(())
    }

    /// Deletes a thread whose time has come, or all of its checkpoints but the latest.
    async fn expired(&self, row: &ThreadRow, now: u64) -> Result<(), Failure> {
        match row.expiry.map(|expiry| expiry.strategy) {
            Some(ExpiryStrategy::KeepLatest) => {
                let change = ThreadChange { expiry: Some(None), ..ThreadChange::default() };
                if let Err(failure) = self.keep_latest(std::slice::from_ref(row)).await {
                    tracing::warn!(%failure, thread = %row.id, "an expired thread keeps its checkpoints");
                }
                self.0.records.change_thread(&row.id, change, now).await?;
                Ok(())
            }
            _ => self.remove(row).await,
        }
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
