//! The lease of a run's thread, which its worker holds for the whole attempt.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use superstep_core::checkpoint::{Acquired, Checkpointer, CheckpointerExt, Claim, LeaseRecord, StoreError};
use superstep_core::run::{AnyGraph, RunError, ThreadError};
use tokio::time::{Instant, sleep};

use crate::log::{Hub, Numbers};

/// The interval in which a thread is claimed that another program holds.
const POLL: Duration = Duration::from_millis(50);

/// A held lease. The edits before a run, the run, and a rollback after it are written with its fence, so a worker that
/// was suspended writes nothing once another one has continued the thread.
pub(super) struct Hold {
    saver: Arc<dyn Checkpointer>,
    lease: Mutex<LeaseRecord>,
}

impl Hold {
    /// Acquires the lease with the numbers of an attempt's events; waits up to `patience` if another program has the
    /// lease.
    ///
    /// # Errors
    /// Returns [`RunError::Leased`] if the other program keeps it for longer.
    pub(super) async fn acquire(
        graph: &AnyGraph,
        hub: &Hub,
        claim: Claim,
        patience: Duration,
    ) -> Result<(Self, Numbers), RunError> {
        let saver = Arc::clone(graph.saver().ok_or(ThreadError::NoCheckpointer)?);
        let since = Instant::now();
        loop {
            // The store carries them out in this order, in one transaction if it can.
            let (acquired, numbers) = tokio::join!(saver.acquire(claim.clone()), hub.reserve(&claim.thread));
            let (acquired, numbers) = (acquired?, numbers?);
            let held = match acquired {
                Acquired::Now(lease) => return Ok((Self { saver, lease: Mutex::new(lease) }, numbers)),
                Acquired::Held(held) => held,
            };
            // The numbers of an attempt must be greater than those of the attempts before it.
            hub.release(&claim.thread, numbers).await?;
            if since.elapsed() >= patience {
                let until_ms = held.until_ms();
                return Err(RunError::Leased { thread: held.thread, holder: held.holder, until_ms });
            }
            sleep(POLL).await;
        }
    }

    /// Returns the graph with a saver that rejects writes once the lease is lost.
    pub(super) fn fenced(&self, graph: &AnyGraph) -> Result<AnyGraph, StoreError> {
        let fenced = self.saver.fenced(&self.lease()).ok_or(StoreError::NoLeases)?;
        Ok(graph.clone().shared_checkpointer(fenced))
    }

    /// Stores the lease as it was renewed.
    pub(super) fn renewed(&self, lease: LeaseRecord) {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner) = lease;
    }

    /// Releases the lease. One that cannot be released expires.
    pub(super) async fn release(&self) {
        if let Err(error) = self.saver.release(&self.lease()).await {
            tracing::debug!(%error, "the lease of a thread could not be released");
        }
    }

    pub(super) fn lease(&self) -> LeaseRecord {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
