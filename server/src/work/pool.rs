//! The pool of workers of a process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::records::{Records, RunClaim, RunRow};
use superstep_core::run::CancellationToken;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use super::control::Control;
use super::drive::drive;
use super::heart::Heart;
use crate::clock::{Clock, millis};
use crate::graphs::Graphs;
use crate::ingress::Ingress;
use crate::log::Hub;

/// The interval in which the queue is read without a notification.
const POLL: Duration = Duration::from_secs(1);

/// The time after a notification in which the queue is read once more: a store may leave a thread out while it is changed.
const AGAIN: Duration = Duration::from_millis(50);

/// Settings of the workers.
#[derive(Clone, Debug)]
pub(crate) struct WorkOptions {
    /// The maximum number of runs at the same time.
    pub(crate) runs: usize,
    /// The time after which a run counts as abandoned whose worker does not extend its claim.
    pub(crate) lease: Duration,
    /// The name of this process, for people.
    pub(crate) owner: String,
    /// The time for which stored events are kept after the end of their run.
    pub(crate) events_kept: Duration,
    /// The ingress of Restate, if it drives the runs.
    pub(crate) ingress: Option<Ingress>,
}

impl Default for WorkOptions {
    fn default() -> Self {
        Self {
            runs: 64,
            lease: Duration::from_secs(10),
            owner: format!("process {}", std::process::id()),
            events_kept: Duration::from_secs(60 * 60),
            ingress: None,
        }
    }
}

/// The workers of a process, and what they share.
pub(crate) struct Worker {
    pub(super) records: Arc<dyn Records>,
    pub(super) graphs: Arc<Graphs>,
    pub(super) hub: Hub,
    pub(super) clock: Clock,
    pub(super) options: WorkOptions,
    /// The attempts that this process drives, by run. It may claim a run again before the lost attempt has ended.
    running: Mutex<BTreeMap<(String, u32), Arc<Control>>>,
    /// Notified when a heartbeat has something to store beside the claim.
    pub(super) changed: Arc<Notify>,
    /// The runs that are left to other programs, with the times until when.
    left: Mutex<BTreeMap<String, u64>>,
    /// Has one permit: for the run that is suspected of ending its workers.
    pub(super) suspect: Arc<Semaphore>,
    /// The threads that other processes have changed, while this one works.
    signals: Mutex<Option<UnboundedSender<ThreadId>>>,
    wake: Notify,
    /// Notified when a run of this process has ended.
    ended: Notify,
    /// Cancelled when no more runs are claimed.
    closed: CancellationToken,
}

impl Worker {
    pub(crate) fn new(
        records: Arc<dyn Records>,
        graphs: Arc<Graphs>,
        hub: Hub,
        clock: Clock,
        options: WorkOptions,
    ) -> Self {
        let (running, closed) = (Mutex::default(), CancellationToken::new());
        let (wake, ended, changed) = (Notify::new(), Notify::new(), Arc::default());
        let suspect = Arc::new(Semaphore::new(1));
        let (signals, left) = (Mutex::default(), Mutex::default());
        Self {
            records,
            graphs,
            hub,
            clock,
            options,
            running,
            changed,
            left,
            suspect,
            signals,
            wake,
            ended,
            closed,
        }
    }

    /// Reads the queue again, because it has changed.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Reads the requests to cancel the runs of a thread.
    pub(crate) fn signalled(&self, thread: &ThreadId) {
        let is_driven = self.running().values().any(|control| control.thread() == thread);
        if let Some(signals) = &*self.signals.lock().unwrap_or_else(PoisonError::into_inner)
            && is_driven
        {
            // The worker may have ended.
            drop(signals.send(thread.clone()));
        }
    }

    /// Waits until a run of this process has ended, if none has since the last call.
    #[cfg(feature = "webhooks")]
    pub(crate) async fn ended(&self) {
        self.ended.notified().await;
    }

    /// Returns the controls of a run that this process drives.
    pub(crate) fn control(&self, run: &str) -> Option<Arc<Control>> {
        let (first, last) = ((run.to_owned(), 0), (run.to_owned(), u32::MAX));
        self.running().range(first..=last).next_back().map(|(_, control)| Arc::clone(control))
    }

    /// Returns the controls of all runs that this process drives.
    pub(crate) fn controls(&self) -> Vec<Arc<Control>> {
        self.running().values().cloned().collect()
    }

    /// Claims no more runs. [`work`](Self::work) returns when the claimed ones have ended.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// Claims runs and drives them, until the pool is closed and its runs have ended.
    pub(crate) async fn work(self: Arc<Self>) {
        let (signals, signalled) = unbounded_channel();
        *self.signals.lock().unwrap_or_else(PoisonError::into_inner) = Some(signals);
        let heart = Heart::new(&self);
        tokio::select! {
            () = Arc::clone(&self).claims() => {}
            never = heart.beats(signalled) => match never {},
        }
    }

    async fn claims(self: Arc<Self>) {
        let (mut runs, mut pause) = (JoinSet::new(), POLL);
        while !self.closed.is_cancelled() {
            self.fill(&mut runs).await;
            tokio::select! {
                () = self.closed.cancelled() => {}
                () = self.wake.notified() => pause = AGAIN,
                () = tokio::time::sleep(pause) => pause = POLL,
                Some(ended) = runs.join_next() => report(ended),
            }
        }
        while let Some(ended) = runs.join_next().await {
            report(ended);
        }
    }

    /// Claims runs until none waits or all places are taken. Twice as many claims follow those that all got a run: a
    /// store carries requests that arrive together out in one transaction.
    async fn fill(self: &Arc<Self>, runs: &mut JoinSet<()>) {
        let mut at_once = 1;
        loop {
            let count = at_once.min(self.options.runs.saturating_sub(runs.len()));
            let claims = join_all((0..count).map(|_| self.claim())).await;
            let mut claimed = 0;
            for claim in claims {
                match claim {
                    Ok(Some(run)) => {
                        claimed += 1;
                        runs.spawn(Arc::clone(self).driven(run));
                    }
                    Ok(None) => {}
                    Err(error) => tracing::error!(%error, "the queue of runs cannot be read"),
                }
            }
            if claimed < count || count == 0 {
                return;
            }
            at_once *= 2;
        }
    }

    async fn claim(&self) -> Result<Option<RunRow>, StoreError> {
        if self.closed.is_cancelled() {
            return Ok(None);
        }
        let (owner, now_ms) = (self.options.owner.clone(), self.clock.now_ms());
        let left = {
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            left.retain(|_, until_ms| *until_ms > now_ms);
            left.keys().cloned().collect()
        };
        let claim = RunClaim { owner, graphs: self.graphs.names(), left, until_ms: self.until_ms() };
        self.records.claim_run(&claim, now_ms).await
    }

    /// Leaves a run to other programs for a while. Then its thread may be one that this program may continue.
    pub(super) fn leave(&self, run: &RunRow) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.insert(run.id.clone(), self.until_ms());
    }

    /// Returns the time until which a claim that is made or extended now holds.
    pub(super) fn until_ms(&self) -> u64 {
        self.clock.now_ms().saturating_add(millis(self.options.lease))
    }

    async fn driven(self: Arc<Self>, run: RunRow) {
        let control = Arc::new(Control::new(&run));
        let key = (run.id.clone(), run.attempt);
        self.running().insert(key.clone(), Arc::clone(&control));
        let guard = Listed { worker: Arc::clone(&self), key };
        if self.closed.is_cancelled() {
            control.drain();
        }
        if let Err(error) = drive(&self, &run, &control).await {
            tracing::error!(run = run.id, %error, "the end of a run could not be stored; it is tried again");
        }
        drop(guard);
        self.hub.wake(&run.thread);
        self.ended.notify_one();
        self.wake();
    }

    fn running(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, u32), Arc<Control>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes an attempt from the list when its task ends, also by a panic.
struct Listed {
    worker: Arc<Worker>,
    key: (String, u32),
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.worker.running().remove(&self.key);
    }
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a worker failed; its run is claimed again");
    }
}
