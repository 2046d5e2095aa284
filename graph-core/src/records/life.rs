//! The life of a run, as pure functions of rows: the changes of rows that a request leads to.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::rows::{Calls, CancelAction, Multitask, RunRow, RunStatus, ThreadRow, ThreadStatus};
use super::{Heartbeat, RunClaim, ThreadChange};
use crate::state::Json;

/// The number of lost attempts without progress after which a run ends with an error: a worker that claims a run with so
/// many [`lost`](RunRow::lost) ones ends it instead of driving it.
pub const MOST_ATTEMPTS: u32 = 4;

/// The number of lost attempts without progress from which a run is suspected of ending its workers: a process drives one
/// suspect at a time, because of many runs that are lost together only one can be the cause.
pub const SUSPECT: u32 = 2;

/// A decision: the answer to the request, and the changes that an implementation stores with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<T> {
    /// The answer.
    pub answer: T,
    /// The changes of existing runs.
    pub runs: Vec<RunChange>,
    /// The [change] of their thread; `None` if its row stays as it is.
    pub thread: Option<ThreadChange>,
}

impl<T> Decision<T> {
    fn nothing(answer: T) -> Self {
        Self { answer, runs: Vec::new(), thread: None }
    }
}

/// A change of an existing run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunChange {
    /// The run's row is replaced by this one.
    Store(RunRow),
    /// The run's row is deleted, with its events unless they [expire](super::Records::expire_events) later.
    Delete(String),
}

/// The answer to a request for a new run.
#[derive(Clone, Debug, PartialEq)]
pub enum Admitted {
    /// The run was stored.
    Stored {
        /// The runs that were pending or abandoned, and have ended at once, with the action.
        ended: Vec<(String, CancelAction)>,
        /// The runs whose workers were asked to stop.
        asked: Vec<String>,
    },
    /// The thread has runs that have not ended, and the run does not wait.
    Busy,
    /// A run with this id exists.
    Exists,
}

/// Decides on a new run, from the runs of its thread that have not ended. If the answer is [`Admitted::Stored`], the
/// implementation also stores the new run's row, as [`pending`] returns it.
#[must_use]
pub fn admit(run: &RunRow, active: &[RunRow], now_ms: u64) -> Decision<Admitted> {
    let action = match run.multitask {
        Multitask::Reject if !active.is_empty() => return Decision::nothing(Admitted::Busy),
        Multitask::Reject | Multitask::Enqueue => None,
        Multitask::Interrupt => Some(CancelAction::Interrupt),
        Multitask::Rollback => Some(CancelAction::Rollback),
    };
    let (mut ended, mut asked, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    let mut thread = ThreadChange { graph: Some(run.graph.clone()), ..ThreadChange::default() };
    for (other, action) in active.iter().filter_map(|other| Some((other, action?))) {
        match stop(other, action, now_ms) {
            Stop::Ended { change, action, status } => {
                ended.push((other.id.clone(), action));
                thread.status = status.or(thread.status);
                thread.error = thread.status.map(|_| None);
                runs.push(change);
            }
            Stop::Asked(change) => {
                asked.push(other.id.clone());
                runs.push(change);
            }
        }
    }
    Decision { answer: Admitted::Stored { ended, asked }, runs, thread: Some(thread) }
}

/// Returns the row of a new run as it is stored.
#[must_use]
pub fn pending(run: RunRow) -> RunRow {
    let (owner, cancel, error) = (None, None, None);
    RunRow { status: RunStatus::Pending, owner, until_ms: 0, attempt: 0, lost: 0, cancel, error, ..run }
}

/// The effect of a request to end a run that has not ended.
enum Stop {
    /// The run ends without a worker, with an action. `status` is that of its thread, if its attempts changed it.
    Ended { change: RunChange, action: CancelAction, status: Option<ThreadStatus> },
    /// A worker ends the run: its own, or the next one that claims it.
    Asked(RunChange),
}

fn stop(run: &RunRow, action: CancelAction, now_ms: u64) -> Stop {
    // A run whose rollback was requested is not kept for a later request to interrupt it.
    let action = match run.cancel {
        Some(CancelAction::Rollback) => CancelAction::Rollback,
        _ => action,
    };
    if !ends_at_once(run, action, now_ms) {
        return Stop::Asked(RunChange::Store(RunRow { cancel: Some(action), ..run.clone() }));
    }
    let change = match action {
        CancelAction::Rollback => RunChange::Delete(run.id.clone()),
        CancelAction::Interrupt => RunChange::Store(RunRow { cancel: Some(action), ..ended(run, now_ms) }),
    };
    Stop::Ended { change, action, status: (run.attempt > 0).then_some(ThreadStatus::Interrupted) }
}

/// Returns `true` if a request ends the run without a worker. What its attempts have stored on the thread stays, so a
/// rollback of a run that was started needs a worker.
fn ends_at_once(run: &RunRow, action: CancelAction, now_ms: u64) -> bool {
    match run.status {
        RunStatus::Pending => run.attempt == 0 || action == CancelAction::Interrupt,
        RunStatus::Running => is_abandoned(run, now_ms) && action == CancelAction::Interrupt,
        _ => false,
    }
}

fn ended(run: &RunRow, now_ms: u64) -> RunRow {
    RunRow { status: RunStatus::Interrupted, updated_ms: now_ms, owner: None, until_ms: 0, ..run.clone() }
}

/// Returns `true` if the worker of a running run is gone.
#[must_use]
pub fn is_abandoned(run: &RunRow, now_ms: u64) -> bool {
    run.status == RunStatus::Running && run.until_ms <= now_ms
}

/// Returns the run of a thread that a worker may claim, if there is one. `active` has the thread's runs that have not
/// ended, in the order in which they were created.
///
/// A thread has one running run. One that was abandoned is continued first, then one that was given back, then the
/// oldest one. A run whose time has not come lets others pass.
#[must_use]
pub fn next<'r>(active: &[&'r RunRow], now_ms: u64) -> Option<&'r RunRow> {
    let running = active.iter().find(|run| run.status == RunStatus::Running);
    if let Some(running) = running {
        return is_abandoned(running, now_ms).then_some(*running);
    }
    let given_back = active.iter().find(|run| run.attempt > 0);
    given_back.or_else(|| active.iter().find(|run| run.not_before_ms <= now_ms)).copied()
}

/// Returns the row of a claimed run. The number of the attempt is the fence of the worker's writes.
///
/// A later attempt that was lost counts only if its worker has [begun] it: many runs are claimed together, and a
/// process that dies before it has begun one does not die of it. The first attempt counts without that, which saves a write.
#[must_use]
pub fn claim(run: RunRow, claim: &RunClaim, now_ms: u64) -> RunRow {
    let is_first_lost = run.status == RunStatus::Running && run.attempt == 1;
    let lost = if is_first_lost { 1 } else { run.lost };
    let updated_ms = if run.status == RunStatus::Running { run.updated_ms } else { now_ms };
    let not_before_ms = if run.attempt == 0 { now_ms } else { run.not_before_ms };
    RunRow {
        status: RunStatus::Running,
        owner: Some(claim.owner.clone()),
        until_ms: claim.until_ms,
        attempt: run.attempt + 1,
        lost,
        updated_ms,
        not_before_ms,
        ..run
    }
}

/// The answer to a worker that extends its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// The run is the worker's.
    Held,
    /// The run is the worker's, and shall end.
    Cancel(CancelAction),
    /// The run has ended, was deleted, or is another worker's. The worker stops, and stores nothing.
    Lost,
}

/// Answers a worker that extends its claim for an attempt. Unless the answer is [`Beat::Lost`], the implementation
/// stores the row as [`extended`] returns it.
#[must_use]
pub fn beat(run: Option<&RunRow>, attempt: u32) -> Beat {
    match run.filter(|run| is_held(run, attempt)) {
        Some(run) => run.cancel.map_or(Beat::Held, Beat::Cancel),
        None => Beat::Lost,
    }
}

/// Returns the row of a run whose claim is extended.
#[must_use]
pub fn extended(run: RunRow, heartbeat: &Heartbeat, until_ms: u64) -> RunRow {
    RunRow { until_ms, lost: heartbeat.lost.unwrap_or(run.lost), ..run }
}

/// Returns the number of lost attempts for the [heartbeat](Heartbeat::lost) with which a worker begins an attempt of a run
/// that it has claimed: this attempt counts until the run makes progress or is given back. `None` for the first attempt.
#[must_use]
pub fn begun(claimed: &RunRow) -> Option<u32> {
    (claimed.attempt > 1).then(|| claimed.lost.saturating_add(1))
}

/// Returns the number of lost attempts for the heartbeat after the first checkpoint that an attempt has stored: the earlier
/// ones no longer count. `None` if the number is the same.
#[must_use]
pub fn advanced(claimed: &RunRow) -> Option<u32> {
    (claimed.attempt > 1 && claimed.lost > 0).then_some(1)
}

/// Returns `true` if this attempt of the run is the latest one and has not ended: only it stores events.
#[must_use]
pub fn is_held(run: &RunRow, attempt: u32) -> bool {
    run.status == RunStatus::Running && run.attempt == attempt
}

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The run has ended.
    Ended {
        /// Its terminal status.
        status: RunStatus,
        /// The status of the thread, unless it has other runs that have not ended.
        thread: ThreadStatus,
        /// The error, for the run and the thread.
        error: Option<Json>,
    },
    /// The run was rolled back: its row is deleted.
    RolledBack {
        /// The status of the thread, unless it has other runs that have not ended.
        thread: ThreadStatus,
    },
    /// The worker stops and gives the run back: it is pending again, and the attempt does not count as lost.
    GivenBack,
    /// The worker has not [begun] the attempt, because another program has the thread: the run is pending again.
    Postponed,
}

/// Decides on the end of an attempt. The answer is `false` if the run was claimed by another worker or has ended.
///
/// # Panics
/// In debug builds, if the status of [`Ending::Ended`] is not terminal.
#[must_use]
pub fn finish(run: Option<&RunRow>, attempt: u32, ending: Ending, now_ms: u64) -> Decision<bool> {
    let Some(run) = run.filter(|run| is_held(run, attempt)) else { return Decision::nothing(false) };
    let (run, thread) = match ending {
        Ending::Ended { status, thread, error } => {
            debug_assert!(status.is_terminal(), "the status of an ended run");
            let run = RunRow { status, error: error.clone(), ..ended(run, now_ms) };
            let error = Some(error);
            let change = ThreadChange { status: Some(thread), error, is_state: true, ..Default::default() };
            (RunChange::Store(run), Some(change))
        }
        Ending::RolledBack { thread } => {
            let change = ThreadChange { status: Some(thread), is_state: true, ..Default::default() };
            (RunChange::Delete(run.id.clone()), Some(change))
        }
        Ending::GivenBack | Ending::Postponed => {
            let lost = run.lost.saturating_sub(u32::from(ending == Ending::GivenBack));
            (RunChange::Store(RunRow { status: RunStatus::Pending, lost, ..ended(run, now_ms) }), None)
        }
    };
    Decision { answer: true, runs: vec![run], thread }
}

/// The result of a request to end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The run has ended at once.
    Ended,
    /// A worker was asked: the run's own, or the next one that claims it.
    Asked,
    /// The run had ended before, or there is none.
    Over,
}

/// Decides on a request to end a run.
#[must_use]
pub fn cancel(run: Option<&RunRow>, action: CancelAction, now_ms: u64) -> Decision<Cancelled> {
    let Some(run) = run.filter(|run| !run.status.is_terminal()) else {
        return Decision::nothing(Cancelled::Over);
    };
    match stop(run, action, now_ms) {
        Stop::Ended { change, status, .. } => Decision {
            answer: Cancelled::Ended,
            runs: vec![change],
            thread: Some(ThreadChange {
                status,
                error: status.map(|_| None),
                is_state: status.is_some(),
                ..ThreadChange::default()
            }),
        },
        Stop::Asked(change) => Decision { answer: Cancelled::Asked, runs: vec![change], thread: None },
    }
}

/// Returns `true` if the webhook of a run shall be called: the run has ended, and the time of a call has come.
#[must_use]
pub fn is_call_due(run: &RunRow, now_ms: u64) -> bool {
    run.status.is_terminal() && run.calls.is_some_and(|calls| calls.next_ms <= now_ms)
}

/// Returns the row of a run whose webhook is called. The call counts as lost at `until_ms`.
#[must_use]
pub fn claim_call(run: RunRow, until_ms: u64) -> RunRow {
    let started = run.calls.map_or(0, |calls| calls.started) + 1;
    RunRow { calls: Some(Calls { next_ms: until_ms, started }), ..run }
}

/// Ends a call of a run's webhook, given its number. `next_ms` is the time of the next call. Returns the changed row;
/// `None` if the call was lost and another one was started.
#[must_use]
pub fn finish_call(run: &RunRow, call: u32, next_ms: Option<u64>) -> Option<RunRow> {
    let calls = run.calls.filter(|calls| calls.started == call)?;
    Some(RunRow { calls: next_ms.map(|next_ms| Calls { next_ms, ..calls }), ..run.clone() })
}

/// The presence of runs that have not ended on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The thread has at least one such run.
    Active,
    /// All runs of the thread have ended.
    Over,
}

/// Changes a thread's row. `resting` is the thread's status without active runs, which implementations keep beside
/// the row: the row has it when the last run is over. An expiry that the change does not set moves with the change.
pub fn change(
    thread: &mut ThreadRow,
    resting: &mut ThreadStatus,
    change: ThreadChange,
    runs: Runs,
    now_ms: u64,
) {
    thread.metadata.extend(change.metadata.unwrap_or_default());
    thread.graph = thread.graph.take().or(change.graph);
    thread.config = change.config.unwrap_or_else(|| thread.config.clone());
    thread.error = change.error.unwrap_or_else(|| thread.error.take());
    *resting = change.status.unwrap_or(*resting);
    thread.status = match runs {
        Runs::Active => ThreadStatus::Busy,
        Runs::Over => *resting,
    };
    thread.updated_ms = now_ms;
    if change.is_state {
        thread.state_updated_ms = now_ms;
    }
    match change.expiry {
        Some(expiry) => thread.expiry = expiry,
        None => {
            if let Some(expiry) = &mut thread.expiry {
                expiry.restart(now_ms);
            }
        }
    }
}

/// Returns the number of a thread's next event after the numbers from `next` up to `reserved_to` are given back.
/// `number` is the one before that, and `stored` the greatest number of a stored event.
#[must_use]
pub fn release(number: u64, next: u64, reserved_to: u64, stored: Option<u64>) -> u64 {
    match number == reserved_to && next <= reserved_to {
        true => next.max(stored.map_or(1, |stored| stored + 1)),
        false => number,
    }
}

#[cfg(test)]
mod tests;
