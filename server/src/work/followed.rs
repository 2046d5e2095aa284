//! The events of a run that another program drives, from the checkpoints that it stores.

use std::convert::Infallible;
use std::time::Duration;

use superstep_core::checkpoint::{Checkpointer, Source, Watch};
use superstep_core::id::{CheckpointId, RunId};
use superstep_core::records::{Records, RunRow};
use superstep_core::run::{AnyState, EventKind, RunEvent, Thread, ThreadError, View};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

use super::recovered::{is_written_by, last_checkpoint};

/// The time after which a store that failed is read again.
const AGAIN: Duration = Duration::from_secs(1);

/// The events of a run that another program drives.
pub(super) struct Followed<'r> {
    thread: &'r Thread<AnyState>,
    events: UnboundedSender<RunEvent>,
    /// The last checkpoint whose events were sent, and the engine's run that wrote it.
    last: Option<(CheckpointId, RunId)>,
}

/// The part of the events that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Those up to the latest checkpoint: the rest is unfinished, or older than the run.
    Stored,
    All,
}

impl<'r> Followed<'r> {
    /// Begins after the last checkpoint that earlier attempts logged, or else that the run did not write.
    pub(super) async fn begin(
        records: &dyn Records,
        thread: &'r Thread<AnyState>,
        run: &RunRow,
        events: UnboundedSender<RunEvent>,
    ) -> Result<Self, ThreadError> {
        let logged = last_checkpoint(records, run).await?.map(|position| position.checkpoint);
        let mut history = thread.history()?;
        let mut last = None;
        while let Some(summary) = history.next().await? {
            let is_step = matches!(summary.source, Source::Input | Source::Loop);
            if Some(summary.id) == logged || !(is_step && is_written_by(&summary, run)) {
                last = Some((summary.id, summary.run));
                break;
            }
        }
        Ok(Self { thread, events, last })
    }

    /// Returns the last checkpoint whose events were sent.
    pub(super) fn last(&self) -> Option<CheckpointId> {
        self.last.map(|(id, _)| id)
    }

    pub(super) fn send(&self, event: RunEvent) {
        // The receiver ends with the attempt.
        drop(self.events.send(event));
    }

    /// Sends the events of new checkpoints as they are stored.
    pub(super) async fn follow(&mut self, saver: &dyn Checkpointer) -> Infallible {
        let mut watch = Watch::thread(self.thread.id().clone());
        loop {
            let seen = async {
                watch.since = Some(saver.watch(watch.clone()).await?);
                self.read(Part::Stored).await
            };
            if let Err(error) = seen.await {
                tracing::warn!(%error, "the supersteps of a run cannot be read; it is tried again");
                sleep(AGAIN).await;
                watch.since = None;
            }
        }
    }

    /// Sends the rest of the events, after the end of the run.
    pub(super) async fn rest(&mut self, part: Part) {
        if let Err(error) = self.read(part).await {
            tracing::warn!(%error, "the last supersteps of a run cannot be read");
        }
    }

    async fn read(&mut self, part: Part) -> Result<(), ThreadError> {
        let mut past = self.thread.events()?.view(View::Debug | View::Updates);
        let mut last = self.last;
        if let Some((checkpoint, _)) = last {
            past = past.after(checkpoint);
        }
        let (mut all, mut pending) = (Vec::new(), Vec::new());
        while let Some(told) = past.next().await? {
            let event = told.event;
            let EventKind::CheckpointSaved { id, source, .. } = event.kind else {
                pending.push(event);
                continue;
            };
            if !event.path.is_empty() {
                pending.push(event);
                continue;
            }
            let before = last.replace((id, event.run)).map(|(_, run)| run);
            // What earlier runs left is a part of their logs.
            let is_own = |pending: &RunEvent| before == Some(event.run) || Some(pending.run) != before;
            match source {
                Source::Input | Source::Loop => {
                    all.extend(pending.drain(..).filter(is_own));
                    all.push(event);
                }
                // The request's own edits.
                _ => pending.clear(),
            }
        }
        if part == Part::All {
            all.append(&mut pending);
        }
        // Each slice is a run of the engine, and the server says once that its run begins.
        let is_start =
            |event: &RunEvent| event.path.is_empty() && matches!(event.kind, EventKind::RunStarted { .. });
        all.retain(|event| !is_start(event));
        self.last = last;
        all.into_iter().for_each(|event| self.send(event));
        Ok(())
    }
}
