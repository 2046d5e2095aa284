//! The calls of webhooks after the ends of runs.
//!
//! ```text
//! finish_run ──► due ── claim_call ──► called ── success, or the last call ──► finish_call(None)
//!                 ▲                      │
//!                 └─ finish_call(time) ──┴─ or the server died: the call counts as lost
//! ```

use std::time::Duration;

use superstep_core::error::BoxError;
use superstep_core::records::{Calls, RunRow};
use tokio::task::JoinSet;

use super::Service;
use crate::clock::millis;
use crate::webhook::host;
use crate::wire::Failure;
use crate::wire::request::Kwargs;
use crate::wire::run::webhook;

/// The interval in which the webhooks that are due are read without a notification.
const POLL: Duration = Duration::from_secs(1);

/// The time after which a call that has not ended counts as lost. It includes the time for the values of the run.
const LOST: Duration = Duration::from_secs(30);

/// The maximum number of calls at the same time.
const MOST_CALLS: usize = 32;

impl Service {
    /// Calls the webhooks of runs that have ended, until the server stops.
    pub(super) async fn call_webhooks(self) {
        let mut calls = JoinSet::new();
        while !self.0.stop.is_cancelled() {
            while calls.len() < MOST_CALLS {
                match self.claim_call().await {
                    Ok(Some(run)) => {
                        let service = self.clone();
                        calls.spawn(async move { service.call(run).await });
                    }
                    Ok(None) => break,
                    Err(failure) => {
                        tracing::warn!(%failure, "the webhooks that are due cannot be read; it is tried again");
                        break;
                    }
                }
            }
            tokio::select! {
                () = self.0.stop.cancelled() => {}
                () = self.0.worker.ended() => {}
                () = tokio::time::sleep(POLL) => {}
                Some(_) = calls.join_next() => {}
            }
        }
        while calls.join_next().await.is_some() {}
    }

    async fn claim_call(&self) -> Result<Option<RunRow>, Failure> {
        let now = self.now_ms();
        let until_ms = now.saturating_add(millis(LOST));
        Ok(self.0.records.claim_call(&self.0.graphs.names(), until_ms, now).await?)
    }

    /// Calls the webhook of a run, and stores the time of the next call if it failed.
    async fn call(&self, run: RunRow) {
        let Some(calls) = run.calls else { return };
        let kwargs: Kwargs = run.kwargs.decode().unwrap_or_default();
        let next_ms = match kwargs.webhook {
            Some(address) => self.send(&run, calls, &address).await,
            None => None,
        };
        if let Err(error) = self.0.records.finish_call(&run.id, calls.started, next_ms).await {
            tracing::warn!(run = run.id, %error, "the end of a call could not be stored; the webhook is called again");
        }
    }

    /// Sends the end of a run. Returns the time of the next call; `None` if no other call follows.
    async fn send(&self, run: &RunRow, calls: Calls, address: &str) -> Option<u64> {
        let webhooks = &self.0.options.webhooks;
        let sent = async {
            let body = self.webhook_body(run).await?;
            Ok::<_, BoxError>(webhooks.post(address, body).await?)
        };
        let error = sent.await.err()?;
        let (run, host, call) = (&run.id, host(address), calls.started);
        match webhooks.waits.get(call.saturating_sub(1) as usize) {
            Some(wait) => {
                tracing::info!(run, host, call, %error, "a webhook failed; it is called again");
                Some(self.now_ms().saturating_add(millis(*wait)))
            }
            None => {
                tracing::error!(run, host, call, %error, "a webhook failed; it is not called again");
                None
            }
        }
    }

    async fn webhook_body(&self, run: &RunRow) -> Result<String, Failure> {
        let values = self.values_of(run).await?;
        Ok(webhook(&self.redacted(run.clone()), values, self.now_ms()).to_string())
    }
}
