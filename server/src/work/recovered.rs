//! Events of earlier attempts that the store has and the log lacks.

use superstep_core::checkpoint::{StoreError, Summary};
use superstep_core::records::{Records, RunRow};
use superstep_core::run::{AnyState, EventKind, EventPosition, RunEvent, Thread, ThreadError, View};

use super::plan::RUN_ID;
use crate::log::{LogEntry, Logged};

/// The number of entries that are read at once.
const PAGE: usize = 1_000;

/// Returns the events of a run's earlier attempts that were not logged before their worker was lost, from the stored
/// checkpoints.
pub(super) async fn unlogged(
    records: &dyn Records,
    thread: &Thread<AnyState>,
    run: &RunRow,
) -> Result<Vec<RunEvent>, ThreadError> {
    let logged = last_checkpoint(records, run).await?;
    of_run(thread, run, logged).await
}

/// Returns the position of the last checkpoint in the log of a run.
pub(super) async fn last_checkpoint(
    records: &dyn Records,
    run: &RunRow,
) -> Result<Option<EventPosition>, StoreError> {
    let (mut after, mut last) = (None, None);
    loop {
        let rows = records.events(&run.thread, Some(&run.id), after, PAGE).await?;
        let Some(end) = rows.last() else { return Ok(last) };
        after = Some(end.seq);
        for entry in rows.iter().filter_map(|row| row.text.decode::<LogEntry>().ok()) {
            if let Logged::Event { event } = entry.what
                && event.path.is_empty()
                && let EventKind::CheckpointSaved { id, .. } = event.kind
            {
                last = Some(EventPosition::from(id));
            }
        }
    }
}

/// Returns the events of the checkpoints that the run wrote, after a position.
async fn of_run(
    thread: &Thread<AnyState>,
    run: &RunRow,
    after: Option<EventPosition>,
) -> Result<Vec<RunEvent>, ThreadError> {
    let own = written(thread, run).await?;
    // A logged checkpoint that the thread no longer has was newer than all that are left.
    let is_left = |after: &EventPosition| own.contains(&after.checkpoint.to_string());
    if own.is_empty() || after.as_ref().is_some_and(|after| !is_left(after)) {
        return Ok(Vec::new());
    }
    let mut events = thread.events()?.view(View::Debug | View::Updates);
    if let Some(after) = after {
        events = events.after(after);
    }
    let (mut all, mut pending) = (Vec::new(), Vec::new());
    while let Some(past) = events.next().await? {
        if own.contains(&past.position.checkpoint.to_string()) {
            let is_saved = matches!(past.event.kind, EventKind::CheckpointSaved { .. });
            pending.push(past.event);
            // The rest after the last checkpoint is unfinished, and happens again.
            if is_saved {
                all.append(&mut pending);
            }
        }
    }
    Ok(all)
}

/// Returns the ids of the newest checkpoints that the run wrote.
async fn written(thread: &Thread<AnyState>, run: &RunRow) -> Result<Vec<String>, ThreadError> {
    let mut history = thread.history()?;
    let mut own = Vec::new();
    while let Some(summary) = history.next().await? {
        if !is_written_by(&summary, run) {
            break;
        }
        own.push(summary.id.to_string());
    }
    Ok(own)
}

/// Returns `true` for a checkpoint that the run wrote.
pub(super) fn is_written_by(summary: &Summary, run: &RunRow) -> bool {
    let of = summary.metadata.get(RUN_ID).and_then(|id| id.decode::<String>().ok());
    of.is_some_and(|of| of == run.id)
}
