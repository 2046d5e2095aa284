//! Runs that the server hands to Restate.
//!
//! ```text
//! claim ──► plan ──► Restate: drive ··► slices, in the programs that Restate calls ──► store
//!                        │                                                               │
//!  finish_run ◄── answer ┘                    log ◄── events of new checkpoints ◄────────┘
//! ```
//!
//! The row, its claim, its log and the requests to cancel it stay the server's. Restate knows a run by its id, so a
//! server that claims the run of another one waits for the invocation that the other one has begun.

use std::future::Future;
use std::time::Duration;

use serde_json::Value;
use superstep_core::id::RunId;
use superstep_core::records::RunStatus;
use superstep_core::records::life::Ending;
use superstep_core::run::{EventKind, RunEvent, Status, ThreadError};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;
use uuid::Uuid;

use super::control::Stop;
use super::drive::Driven;
use super::followed::{Followed, Part};
use super::outcome::{Failed, ended, resting};
use super::plan::{Request, plan};
use crate::ingress::{Answer, Ingress};

/// The time for which a run that was cancelled waits for Restate.
const PATIENCE: Duration = Duration::from_secs(5);

/// The events that the server adds are of no run of the engine.
const NO_RUN: RunId = RunId(Uuid::nil());

impl Driven<'_> {
    /// Has Restate drive the run. `Ok(None)`: the run was stopped.
    pub(super) async fn handed(
        &self,
        ingress: &Ingress,
        request: Result<Request<'_>, Failed>,
        events: UnboundedSender<RunEvent>,
    ) -> Result<Option<Ending>, Failed> {
        let is_first = self.row.attempt == 1;
        if is_first && self.control.stopped().is_some() {
            return Ok(None);
        }
        let request = request?;
        let asked = async { !is_first && ingress.has(self.row).await };
        let Some(has_begun) = self.unless_stopped(asked).await else {
            self.taken_back(ingress).await;
            return Ok(None);
        };
        let order = if has_begun { None } else { Some(self.order(&request).await?) };
        let mut followed = Followed::begin(&*self.worker.records, &self.thread, self.row, events).await?;
        followed.send(self.begin(&order, &followed));
        let saver = self.graph.saver().ok_or(ThreadError::NoCheckpointer)?;
        let driven = async {
            let answer = async {
                match &order {
                    Some(order) => ingress.drive(self.row, order).await,
                    None => ingress.attach(self.row).await,
                }
            };
            tokio::select! {
                answer = answer => answer,
                never = followed.follow(&**saver) => match never {},
            }
        };
        let answer = match self.unless_stopped(driven).await {
            Some(answer) => Some(answer),
            None => self.taken_back(ingress).await,
        };
        let Some(answer) = answer else { return Ok(None) };
        followed.rest(if answer == Answer::Cancelled { Part::Stored } else { Part::All }).await;
        if let Answer::Ended(Status::Breakpoint { before, after }) = &answer {
            let (before, after) = (before.clone(), after.clone());
            followed.send(self.event(EventKind::BreakpointReached { before, after }));
        }
        self.concluded(answer).await
    }

    /// Changes the thread as the request asks, and returns the order for Restate. Only this needs the lease: later it
    /// belongs to the programs that Restate calls.
    async fn order(&self, request: &Request<'_>) -> Result<Value, Failed> {
        if !request.edits() {
            return Ok(request.order(plan(request, &self.graph, &self.thread).await?));
        }
        let (hold, graph, thread) = self.held().await?;
        let steps = plan(request, &graph, &thread).await;
        hold.release().await;
        Ok(request.order(steps?))
    }

    /// Returns the event with which the run begins. The stored ones name the runs of the engine, one for each slice.
    fn begin(&self, order: &Option<Value>, followed: &Followed<'_>) -> RunEvent {
        let is_input = order.as_ref().is_some_and(|order| order["begins"][0].get("input").is_some());
        let (graph, thread) = (self.graph.name().clone(), self.row.thread.clone());
        let resumes = followed.last().filter(|_| !is_input);
        self.event(EventKind::RunStarted { graph, thread, resumes })
    }

    fn event(&self, kind: EventKind) -> RunEvent {
        RunEvent { seq: 0, at_ms: self.worker.clock.now_ms(), run: NO_RUN, path: Vec::new(), kind }
    }

    /// Awaits this, unless the run is stopped before.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.control.cancel.cancelled() => None,
            () = self.control.drain.cancelled() => None,
            done = work => Some(done),
        }
    }

    /// Cancels the run in Restate if a request has ended it, and returns its end there. If the server only gives the run
    /// back, Restate continues it.
    async fn taken_back(&self, ingress: &Ingress) -> Option<Answer> {
        let cancelled = ingress.cancel(self.row);
        let answer = match self.control.stopped() {
            // A rollback undoes what the run has stored, so it waits for the end of the run.
            Some(Stop::Rollback) => Some(cancelled.await),
            Some(Stop::Interrupt) => timeout(PATIENCE, cancelled).await.ok(),
            _ => return None,
        };
        if answer.is_none() {
            ingress.cancel_later(self.row.clone());
        }
        answer.filter(|answer| !matches!(answer, Answer::Unknown(_)))
    }

    async fn concluded(&self, answer: Answer) -> Result<Option<Ending>, Failed> {
        match answer {
            Answer::Ended(status) => Ok(ended(&status)),
            Answer::Failed { code, message } => Err(Failed::of_code(code, message)),
            Answer::Unknown(reason) => {
                let graph = self.graph.name();
                let message = format!(
                    "Restate does not know the graph {graph}: register its endpoint with `work --register` ({reason})"
                );
                Err(Failed::new("ServiceNotRegistered", message))
            }
            Answer::Cancelled if self.control.stopped().is_some() => Ok(None),
            // It was cancelled in Restate.
            Answer::Cancelled => {
                let thread = resting(&self.thread).await?;
                Ok(Some(Ending::Ended { status: RunStatus::Interrupted, thread, error: None }))
            }
        }
    }
}
