//! Prunes older checkpoints in the background, in a task of the saver's runtime.
//!
//! A pass reads all checkpoints, so the interval to the next pass grows with the number of checkpoints that a pass leaves.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use superstep_core::checkpoint::StoreError;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::super::error::Fault;
use super::super::session::Session;
use super::collect_once;
use crate::maintenance::{Collected, Pruned, Retained};
use crate::retention::Policy;

/// The task that prunes; it ends when this is dropped.
pub(crate) struct Background {
    pruning: Arc<Pruning>,
    task: JoinHandle<()>,
}

/// The pruning of a saver whose options set a retention.
pub(crate) struct Pruning {
    session: Session,
    policy: Policy,
    /// The least number of commits between two passes.
    every: u32,
    /// The number of checkpoints to be committed until the next pass.
    left: AtomicI64,
    due: Notify,
    done: Mutex<Retained>,
    /// Locked during a pass.
    passing: tokio::sync::Mutex<()>,
}

impl Background {
    /// Starts the pruning; `None` if everything is kept.
    pub(crate) fn start(session: &Session, policy: &Policy, every: u32) -> Option<Self> {
        if policy.keeps_all() {
            return None;
        }
        let pruning = Arc::new(Pruning {
            session: session.clone(),
            policy: policy.clone(),
            every,
            left: AtomicI64::new(every.into()),
            due: Notify::new(),
            done: Mutex::default(),
            passing: tokio::sync::Mutex::default(),
        });
        let serving = Arc::clone(&pruning);
        let task = tokio::spawn(async move {
            loop {
                serving.due.notified().await;
                // `done` reports an error.
                let _told = serving.pass().await;
            }
        });
        Some(Self { pruning, task })
    }

    pub(crate) fn pruning(&self) -> &Pruning {
        &self.pruning
    }
}

impl Drop for Background {
    /// Stops a pass; its current transaction is rolled back.
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pruning {
    /// Counts a committed checkpoint.
    pub(crate) fn committed(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.due.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Retained> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn done(&self) -> Retained {
        self.lock().clone()
    }

    /// Prunes, and collects if anything was pruned.
    pub(crate) async fn pass(&self) -> Result<(Pruned, Collected), StoreError> {
        let _passing = self.passing.lock().await;
        let passed = self.attempt().await;
        let every = i64::from(self.every);
        let mut done = self.lock();
        match passed {
            Ok((pruned, collected, left)) => {
                done.passes += 1;
                done.checkpoints += pruned.checkpoints;
                done.failed = None;
                self.left.store(every.max(left.cast_signed() / 2), Ordering::Relaxed);
                Ok((pruned, collected))
            }
            Err(error) => {
                done.failed = Some(error.to_string());
                self.left.store(every, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    async fn attempt(&self) -> Result<(Pruned, Collected, u64), StoreError> {
        let mut pruned = Pruned::default();
        let left = self.session.prune(&self.policy, &mut pruned).await?;
        let collected = match pruned.checkpoints {
            0 => Collected::default(),
            _ => collect_once(self.session.database()).await.map_err(Fault::plain)?,
        };
        Ok((pruned, collected, left))
    }
}
