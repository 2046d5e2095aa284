//! Runs with a lease: it is acquired before the run begins, renewed during the run, and released afterwards.

use std::boxed::Box;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::begin::begin;
use super::order::{Ended, Order};
use crate::checkpoint::{Acquired, Checkpointer, CheckpointerExt, Claim, LeaseRecord, StoreError};
use crate::id::ThreadId;
use crate::run::runtime::error::RunError;
use crate::run::runtime::lease::Lease;
use crate::run::runtime::outcome::Status;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;

/// The time between two attempts to acquire a thread that another run holds.
const ASK_EVERY: Duration = Duration::from_millis(50);

impl Lease {
    /// Carries out an order while holding the lease of the thread.
    pub(crate) async fn hold(self, runtime: Arc<Runtime>, mut order: Box<Order>) -> Result<Ended, RunError> {
        let saver = runtime.saver.clone().ok_or(ThreadError::NoCheckpointer)?;
        let lease = self.acquire(&*saver, &order.thread).await?;
        let fenced = saver.fenced(&lease).ok_or(StoreError::NoLeases)?;
        let mut runtime = (*runtime).clone();
        runtime.saver = Some(fenced);
        let stop = match &order.stops.cancel {
            Some(cancel) => cancel.child_token(),
            None => CancellationToken::new(),
        };
        order.stops.cancel = Some(stop.clone());
        let keeper = Keeper::start(saver, lease, stop);
        let ended = match Box::pin(begin(Arc::new(runtime), order)).await {
            Ok(prepared) => prepared.run().await,
            Err(error) => Err(error),
        };
        match (ended, keeper.end().await) {
            // The run only reports that it was stopped, or that another run was faster. The lost lease is the
            // cause.
            (
                Ok(Ended { status: Status::Cancelled, .. }) | Err(RunError::Superseded { .. }),
                Err(lost @ StoreError::LeaseLost { .. }),
            ) => Err(lost.into()),
            // The run's results are stored, and a lease that could not be released expires soon.
            (ended, _) => ended,
        }
    }

    async fn acquire(&self, saver: &dyn Checkpointer, thread: &ThreadId) -> Result<LeaseRecord, RunError> {
        let since = Instant::now();
        let holder = self.holder.clone();
        let holder = holder.unwrap_or_else(|| std::format!("process {}", std::process::id()));
        let claim = Claim { thread: thread.clone(), holder, ttl: self.ttl };
        loop {
            let held = match saver.acquire(claim.clone()).await? {
                Acquired::Now(lease) => return Ok(lease),
                Acquired::Held(held) => held,
            };
            let left = self.patience.saturating_sub(since.elapsed());
            if left.is_zero() {
                let until_ms = held.until_ms();
                return Err(RunError::Leased { thread: held.thread, holder: held.holder, until_ms });
            }
            sleep(left.min(ASK_EVERY)).await;
        }
    }
}

/// Renews a lease until it is dropped, and then releases it.
struct Keeper {
    task: JoinHandle<Result<(), StoreError>>,
    run: DropGuard,
}

impl Keeper {
    /// Starts renewing. `stop` is cancelled if the lease is lost.
    fn start(saver: Arc<dyn Checkpointer>, lease: LeaseRecord, stop: CancellationToken) -> Self {
        let run = CancellationToken::new();
        let ended = run.clone();
        // It runs in its own task, because a run that is busy with a node cannot renew the lease.
        let task = tokio::spawn(async move {
            let mut lease = lease;
            let third = Duration::from_millis((lease.ttl_ms / 3).max(1));
            loop {
                tokio::select! {
                    biased;
                    () = ended.cancelled() => return saver.release(&lease).await,
                    () = sleep(third) => {}
                }
                match saver.renew(&lease).await {
                    Ok(renewed) => lease = renewed,
                    Err(lost @ StoreError::LeaseLost { .. }) => {
                        stop.cancel();
                        return Err(lost);
                    }
                    // A busy store may recover, and it reports itself if the lease has expired by then.
                    Err(_) => {}
                }
            }
        });
        Self { task, run: run.drop_guard() }
    }

    /// Releases the lease; returns an error if it was lost.
    async fn end(self) -> Result<(), StoreError> {
        drop(self.run);
        // The task is never aborted and does not panic.
        self.task.await.unwrap_or(Ok(()))
    }
}
