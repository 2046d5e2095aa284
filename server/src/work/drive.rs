//! Drives one attempt of a run.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::checkpoint::{At, CheckpointerExt, Claim, StoreError};
use superstep_core::error::ErrorReport;
use superstep_core::records::life::{self, Beat, Ending, MOST_ATTEMPTS, SUSPECT};
use superstep_core::records::{EventRow, RunRow, RunStatus, ThreadStatus};
use superstep_core::run::{
    AnyGraph, AnyState, EventKind, RunError, RunEvent, Status, Thread, ThreadError, View,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::control::{Control, Stop};
use super::hold::Hold;
use super::outcome::{Failed, ended, resting};
use super::plan::{Request, Step, plan};
use super::pool::Worker;
use super::recovered::unlogged;
use super::rollback::{Before, roll_back};
use crate::clock::millis;
use crate::log::{Attempt, Logged};
use crate::wire::request::Kwargs;

/// The time for which a run waits if another program holds its thread.
const LEASE_WAIT: Duration = Duration::from_secs(1);

/// The number of tries to store the end of a run.
const TRIES: u32 = 5;

/// The time between two of them.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// An attempt with what it needs.
pub(super) struct Driven<'w> {
    pub(super) worker: &'w Worker,
    pub(super) row: &'w RunRow,
    pub(super) control: &'w Control,
    /// The graph, which writes with the fence of the lease.
    pub(super) graph: AnyGraph,
    pub(super) thread: Thread<AnyState>,
}

/// Drives a claimed run to its end.
///
/// # Errors
/// Returns an error if the store fails. The run is then claimed again when the claim is over.
pub(super) async fn drive(worker: &Worker, row: &RunRow, control: &Arc<Control>) -> Result<(), StoreError> {
    if let Some(action) = row.cancel {
        control.stop(Stop::from(action));
    }
    let Some(graph) = worker.graphs.named(row.graph.as_str()) else { return Ok(()) };
    let settled = CancellationToken::new();
    let _settles = settled.clone().drop_guard();
    let is_handed = worker.options.ingress.is_some();
    if row.lost >= SUSPECT && !is_given_up(worker, row) && !is_handed {
        alone(worker, control, settled.clone()).await;
    }
    worker.hub.free(&row.thread).await;
    let acquired = match is_handed {
        true => Ok((None, worker.hub.reserve(&row.thread).await?)),
        false => Hold::acquire(graph, &worker.hub, claim(worker, row), LEASE_WAIT)
            .await
            .map(|(hold, numbers)| (Some(Arc::new(hold)), numbers)),
    };
    let (hold, numbers) = match acquired {
        Ok(held) => held,
        Err(error) => {
            let failed = Failed::from(error);
            tracing::debug!(run = row.id, error = failed.message, "a run waits for its thread");
            let ending = if failed.is_elsewhere() { Ending::Postponed } else { failed.ending() };
            return finish(worker, row, ending, None).await.map(drop);
        }
    };
    // If this process was suspended, another one may have continued and finished the run. A worker that claims the run
    // from now on needs a later lease, which fences this one off.
    let beat = begin(worker, row, control).await?;
    control.answered(beat);
    if beat == Beat::Lost {
        release(hold.as_deref()).await;
        return worker.hub.release(&row.thread, numbers).await;
    }
    let graph = match &hold {
        Some(hold) => {
            control.renew(hold);
            hold.fenced(graph)?
        }
        None => graph.clone(),
    };
    let thread = graph.thread(row.thread.clone());
    let driven = Driven { worker, row, control, graph, thread };
    let request = Request::new(row);
    let is_stored = request.as_ref().is_ok_and(Request::is_resumable);
    let mut log = Attempt::begin(&worker.hub, row, numbers, is_stored);
    log.log(driven.begun()).await?;
    let before = driven.before().await;
    if is_stored && row.attempt > 1 && !is_handed {
        driven.recover(&mut log).await?;
    }
    let (events, received) = unbounded_channel();
    let progress = {
        let (control, lost, changed) = (Arc::clone(control), life::advanced(row), worker.changed.clone());
        move || {
            settled.cancel();
            if lost.is_some() {
                control.count(lost);
                changed.notify_one();
            }
        }
    };
    let pump = tokio::spawn(pump(log, received, progress));
    let ended = driven.outcome(request, events).await;
    let (mut log, report) = match pump.await {
        Ok(pumped) => pumped?,
        Err(error) => return Err(StoreError::Io(Box::new(error))),
    };
    let ending = driven.ending(ended, before, report.as_ref()).await;
    // Readers take the entries of a run that has ended for complete.
    log.flush().await;
    let Some(ending) = ending.filter(|_| control.stopped() != Some(Stop::Lost)) else {
        release(hold.as_deref()).await;
        return log.close(None).await;
    };
    let (last, stored) = match last_entry(&ending) {
        Some(what) => {
            let (last, stored) = log.last(what).await?;
            (Some(last), stored)
        }
        None => (None, None),
    };
    // The store carries them out in this order, in one transaction if it can.
    let ((), is_finished) = tokio::join!(release(hold.as_deref()), finish(worker, row, ending, stored));
    let is_finished = is_finished?;
    let Some(last) = last.filter(|_| is_finished) else { return log.close(None).await };
    log.show(last);
    log.close(Some(worker.clock.now_ms().saturating_add(millis(worker.options.events_kept)))).await
}

/// Logs the events of a run, and returns the last failure of a task. Calls `advanced` at the first checkpoint.
async fn pump(
    mut log: Attempt,
    mut events: UnboundedReceiver<RunEvent>,
    advanced: impl FnOnce(),
) -> Result<(Attempt, Option<ErrorReport>), StoreError> {
    let mut report = None;
    let mut advanced = Some(advanced);
    while let Some(event) = events.recv().await {
        // Also one of a subgraph.
        if matches!(event.kind, EventKind::CheckpointSaved { .. })
            && let Some(advanced) = advanced.take()
        {
            advanced();
        }
        if let EventKind::TaskFailed { error, retry_in_ms: None, handled: false, .. } = &event.kind {
            report = Some(error.clone());
        }
        log.log(Logged::Event { event }).await?;
    }
    Ok((log, report))
}

/// The engine's task, which is aborted with its attempt.
struct Running(JoinHandle<Result<superstep_core::run::Run<AnyState>, superstep_core::run::RunError>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins an attempt: from now on it counts as lost, unless it is given up at once. Returns what a heartbeat does.
async fn begin(worker: &Worker, row: &RunRow, control: &Control) -> Result<Beat, StoreError> {
    match life::begun(row).filter(|_| !is_given_up(worker, row)) {
        Some(lost) => {
            control.count(Some(lost));
            let answers = worker.records.beat(&[control.heartbeat()], worker.until_ms()).await?;
            Ok(answers.first().copied().unwrap_or(Beat::Lost))
        }
        None => Ok(life::beat(worker.records.run(&row.id).await?.as_ref(), row.attempt)),
    }
}

/// Waits until no other run of this process is suspected of ending its workers. The run is the suspect until it has `settled`,
/// or this process has survived it for a while.
async fn alone(worker: &Worker, control: &Control, settled: CancellationToken) {
    let permit = tokio::select! {
        permit = Arc::clone(&worker.suspect).acquire_owned() => permit.expect("it is never closed"),
        // A run that is stopped is not driven.
        () = control.cancel.cancelled() => return,
        () = control.drain.cancelled() => return,
    };
    let survived = tokio::time::sleep(worker.options.lease);
    tokio::spawn(async move {
        tokio::select! {
            () = survived => {}
            () = settled.cancelled() => {}
        }
        drop(permit);
    });
}

/// Returns `true` for a run that is the likely cause of the deaths of its workers. Restate drives its runs elsewhere.
fn is_given_up(worker: &Worker, row: &RunRow) -> bool {
    row.lost >= MOST_ATTEMPTS && worker.options.ingress.is_none()
}

fn claim(worker: &Worker, row: &RunRow) -> Claim {
    Claim { thread: row.thread.clone(), holder: worker.options.owner.clone(), ttl: worker.options.lease }
}

async fn release(hold: Option<&Hold>) {
    if let Some(hold) = hold {
        hold.release().await;
    }
}

impl Driven<'_> {
    fn begun(&self) -> Logged {
        let kwargs: Kwargs = self.row.kwargs.decode().unwrap_or_default();
        Logged::Begun {
            graph: self.row.graph.to_string(),
            assistant: self.row.assistant.clone(),
            metadata: self.row.metadata.clone(),
            modes: kwargs.stream_mode,
            subgraphs: kwargs.subgraphs,
        }
    }

    async fn before(&self) -> Option<Before> {
        let before = Before::read(&self.graph, &self.thread, self.row).await;
        before
            .inspect_err(|error| tracing::warn!(%error, "the thread of a run cannot be read"))
            .ok()
            .flatten()
    }

    /// Logs the events of earlier attempts that are not in the log.
    async fn recover(&self, log: &mut Attempt) -> Result<(), StoreError> {
        match unlogged(&*self.worker.records, &self.thread, self.row).await {
            Ok(events) => {
                for event in events {
                    log.log(Logged::Event { event }).await?;
                }
                Ok(())
            }
            Err(ThreadError::Store(error)) => Err(error),
            Err(error) => {
                tracing::warn!(%error, "the events of an earlier attempt cannot be rebuilt");
                Ok(())
            }
        }
    }

    /// Runs the graph. `Ok(None)`: the run was stopped.
    async fn outcome(
        &self,
        request: Result<Request<'_>, Failed>,
        events: UnboundedSender<RunEvent>,
    ) -> Result<Option<Ending>, Failed> {
        if is_given_up(self.worker, self.row) {
            let message = format!(
                "the run was given up: {} workers in a row were lost while they drove it, without a further checkpoint",
                self.row.lost
            );
            return Err(Failed::new("RunAbandoned", message));
        }
        #[cfg(feature = "restate")]
        if let Some(ingress) = &self.worker.options.ingress {
            return self.handed(ingress, request, events).await;
        }
        if self.control.stopped().is_some() {
            return Ok(None);
        }
        let request = request?;
        let mut steps = plan(&request, &self.graph, &self.thread).await?.into_iter().peekable();
        while let Some(step) = steps.next() {
            let run = self.step(&request, step, events.clone()).await?;
            // Another step answers what this one asks.
            if steps.peek().is_none() || !matches!(run.status, Status::Interrupted { .. }) {
                return Ok(ended(&run.status));
            }
        }
        Ok(None)
    }

    async fn step(
        &self,
        request: &Request<'_>,
        step: Step,
        events: UnboundedSender<RunEvent>,
    ) -> Result<superstep_core::run::Run<AnyState>, Failed> {
        let asked = request.options(step.request(&self.thread).await?);
        let asked = asked
            .cancel_on(self.control.cancel.clone())
            .drain_on(self.control.drain.clone())
            .include(View::Updates)
            .observe(move |event: &RunEvent| {
                if !matches!(event.kind, EventKind::Values { .. }) {
                    // The receiver ends with the attempt.
                    drop(events.send(event.clone()));
                }
            });
        let mut running = Running(tokio::spawn(asked.into_future()));
        match (&mut running.0).await {
            Ok(run) => Ok(run?),
            Err(error) => Err(Failed::new("InternalError", format!("the run's task failed: {error}"))),
        }
    }

    /// Acquires the lease of the thread of a run that was handed over, for changes before or after its work. Returns the
    /// graph and the thread that write with its fence.
    pub(super) async fn held(&self) -> Result<(Hold, AnyGraph, Thread<AnyState>), RunError> {
        let Self { worker, row, .. } = self;
        let (hold, numbers) = Hold::acquire(&self.graph, &worker.hub, claim(worker, row), LEASE_WAIT).await?;
        worker.hub.release(&row.thread, numbers).await?;
        // As in `drive`: another server may have continued and finished the run.
        let beat = life::beat(worker.records.run(&row.id).await?.as_ref(), row.attempt);
        self.control.answered(beat);
        if beat == Beat::Lost {
            hold.release().await;
            return Err(StoreError::LeaseLost { thread: row.thread.clone(), to: None }.into());
        }
        let graph = hold.fenced(&self.graph)?;
        let thread = graph.thread(row.thread.clone());
        Ok((hold, graph, thread))
    }

    /// Rolls the run back, and returns the status that its thread had before.
    async fn rolled_back(&self, before: Option<Before>) -> Result<ThreadStatus, RunError> {
        let status = match self.worker.options.ingress {
            None => roll_back(&self.graph, &self.thread, self.row, before).await?,
            Some(_) => {
                let (hold, graph, thread) = self.held().await?;
                let status = roll_back(&graph, &thread, self.row, before).await;
                hold.release().await;
                status?
            }
        };
        let thread = self.worker.records.thread(&self.row.thread).await?;
        // It still has the error of its last run.
        let has_failed = thread.is_some_and(|thread| thread.error.is_some());
        Ok(if has_failed { ThreadStatus::Error } else { status })
    }

    /// Returns the end of the attempt; `None` if there is nothing to store.
    async fn ending(
        &self,
        outcome: Result<Option<Ending>, Failed>,
        before: Option<Before>,
        report: Option<&ErrorReport>,
    ) -> Option<Ending> {
        let stopped = self.control.stopped();
        if stopped == Some(Stop::Lost) {
            return None;
        }
        if stopped == Some(Stop::Rollback) {
            return Some(match self.rolled_back(before).await {
                Ok(thread) => Ending::RolledBack { thread },
                Err(error) => match Failed::from(error) {
                    failed if self.is_left(&failed).await => Ending::GivenBack,
                    failed => failed.ending(),
                },
            });
        }
        match outcome {
            Ok(Some(ending)) => Some(ending),
            Ok(None) if stopped == Some(Stop::Interrupt) => {
                let thread = resting(&self.thread).await.unwrap_or(ThreadStatus::Interrupted);
                Some(Ending::Ended { status: RunStatus::Interrupted, thread, error: None })
            }
            Ok(None) => Some(Ending::GivenBack),
            Err(failed) if self.is_left(&failed).await => Some(Ending::GivenBack),
            Err(failed) => Some(failed.of_task(report).ending()),
        }
    }

    /// Returns `true` if the run is left to another program: one that works on its thread, or one that has its version of the
    /// graph.
    async fn is_left(&self, failed: &Failed) -> bool {
        if !failed.is_unfit() || !self.is_of_another_version().await {
            return failed.is_elsewhere();
        }
        self.worker.leave(self.row);
        let (run, thread) = (&self.row.id, &self.row.thread);
        tracing::warn!(run, %thread, error = failed.message, "a run is left to a program with another version of its graph");
        true
    }

    /// Returns `true` if the thread was last written under another version of the graph.
    async fn is_of_another_version(&self) -> bool {
        let Some(saver) = self.graph.saver() else { return false };
        let own = self.graph.description();
        let own = (own.schema.fingerprint(), own.topology_fingerprint);
        // Without a head that can be read, the error of the run counts.
        let head = saver.read(self.thread.id(), At::Head).await.ok().flatten();
        head.is_some_and(|head| (head.checkpoint.schema, head.checkpoint.topology) != own)
    }
}

/// Stores the end of an attempt, with the last event of a run that has ended. Returns `false` if the run is another
/// worker's.
async fn finish(
    worker: &Worker,
    row: &RunRow,
    ending: Ending,
    last: Option<EventRow>,
) -> Result<bool, StoreError> {
    let Worker { records, clock, .. } = worker;
    let mut tries = 1;
    loop {
        let stored = records.finish_run(&row.id, row.attempt, ending.clone(), last.clone(), clock.now_ms());
        match stored.await {
            Err(error) if tries < TRIES => {
                tracing::warn!(%error, run = row.id, "the end of a run could not be stored");
                tries += 1;
                tokio::time::sleep(TRY_AGAIN).await;
            }
            stored => return stored,
        }
    }
}

/// Returns the last entry of the run; `None` if it has not ended.
fn last_entry(ending: &Ending) -> Option<Logged> {
    match ending {
        Ending::Ended { status, thread, error } => {
            let error = error.as_ref().and_then(|error| error.decode().ok());
            Some(Logged::Ended { status: *status, thread: *thread, error })
        }
        Ending::RolledBack { thread } => {
            Some(Logged::Ended { status: RunStatus::Interrupted, thread: *thread, error: None })
        }
        Ending::GivenBack | Ending::Postponed => None,
    }
}
