//! The heartbeats of a process: they extend the claims and the leases of all its runs together.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::checkpoint::{CheckpointerExt, StoreError};
use superstep_core::id::ThreadId;
use superstep_core::records::Heartbeat;
use superstep_core::records::life::{self, Beat};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval};

use super::control::{Control, Stop};
use super::pool::Worker;

/// The interval in which requests to cancel runs are read.
const REQUESTS: Duration = Duration::from_millis(200);

/// The heartbeats of the runs of a worker.
pub(super) struct Heart<'w> {
    worker: &'w Worker,
}

impl<'w> Heart<'w> {
    pub(super) fn new(worker: &'w Worker) -> Self {
        Self { worker }
    }

    /// Extends all claims and leases, and reads requests to cancel their runs.
    pub(super) async fn beats(self, mut signalled: UnboundedReceiver<ThreadId>) -> Infallible {
        let mut beats = interval(self.worker.options.lease / 3);
        let mut requests = interval(REQUESTS);
        for interval in [&mut beats, &mut requests] {
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval.tick().await;
        }
        loop {
            tokio::select! {
                biased;
                _ = beats.tick() => {
                    let controls = self.worker.controls();
                    tokio::join!(self.extend(&controls), self.renew(&controls));
                }
                () = self.worker.changed.notified() => {
                    let mut changed = self.worker.controls();
                    changed.retain(|control| control.take_changed());
                    self.extend(&changed).await;
                }
                // A signal of another process replaces the look.
                _ = requests.tick(), if !self.worker.hub.is_signalled() => {
                    self.read(&self.worker.controls()).await;
                }
                thread = signalled.recv() => {
                    let mut controls = self.worker.controls();
                    controls.retain(|control| thread.as_ref() == Some(control.thread()));
                    self.read(&controls).await;
                }
            }
        }
    }

    /// Extends claims.
    async fn extend(&self, controls: &[Arc<Control>]) {
        if !controls.is_empty() {
            let heartbeats = heartbeats(controls);
            answer(controls, self.worker.records.beat(&heartbeats, self.worker.until_ms()).await);
        }
    }

    /// Reads requests to cancel runs, without extending their claims.
    async fn read(&self, controls: &[Arc<Control>]) {
        let mut answers = Vec::with_capacity(controls.len());
        for heartbeat in heartbeats(controls) {
            match self.worker.records.run(&heartbeat.run).await {
                Ok(row) => answers.push(life::beat(row.as_ref(), heartbeat.attempt)),
                Err(error) => return answer(controls, Err(error)),
            }
        }
        answer(controls, Ok(answers));
    }

    /// Renews leases, and stops the runs whose leases were lost.
    async fn renew(&self, controls: &[Arc<Control>]) {
        let held: Vec<_> = controls.iter().filter_map(|control| Some((control, control.hold()?))).collect();
        let Some(saver) = self.worker.graphs.iter().find_map(|graph| graph.saver()) else { return };
        if held.is_empty() {
            return;
        }
        match saver.renew_all(held.iter().map(|(_, hold)| hold.lease()).collect()).await {
            Ok(renewed) => {
                for ((control, hold), lease) in held.into_iter().zip(renewed) {
                    match lease {
                        Some(lease) => hold.renewed(lease),
                        None => control.stop(Stop::GiveBack),
                    }
                }
            }
            Err(error) => tracing::warn!(%error, runs = held.len(), "leases could not be renewed"),
        }
    }
}

fn heartbeats(controls: &[Arc<Control>]) -> Vec<Heartbeat> {
    controls.iter().map(|control| control.heartbeat()).collect()
}

/// Hands answers over to the attempts.
fn answer(controls: &[Arc<Control>], answers: Result<Vec<Beat>, StoreError>) {
    match answers {
        Ok(answers) => controls.iter().zip(answers).for_each(|(control, beat)| control.answered(beat)),
        Err(error) => tracing::warn!(%error, runs = controls.len(), "claims could not be extended"),
    }
}
