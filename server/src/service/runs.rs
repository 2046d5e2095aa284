//! Runs that are stored: found, awaited, cancelled, deleted.

use serde_json::{Value, json};
use superstep_core::checkpoint::{At, CheckpointerExt};
use superstep_core::records::life::Cancelled;
use superstep_core::records::{CancelAction, RunQuery, RunRow, RunStatus};
use superstep_core::run::AnyGraph;
use superstep_core::state::Json;

use super::shown;
use super::state::thread_id;
use super::{Scope, Service};
use crate::wire::Failure;
use crate::wire::run::{CancelMany, RunSearch, failed, run};
use crate::wire::select::select;
use crate::work::{RUN_ID, Stop};

/// The number of checkpoints of later runs that are looked at for the state with which a run ended.
const LATER: usize = 64;

impl Service {
    /// Returns a run that the client may use. `thread` is its thread, if the client names it.
    pub(crate) async fn run_row(
        &self,
        scope: &Scope,
        thread: Option<&str>,
        id: &str,
    ) -> Result<RunRow, Failure> {
        let unknown = format!("Run with ID {id} not found");
        let row = self.0.records.run(id).await?;
        let row = row.filter(|row| thread.is_none_or(|thread| thread == row.thread.as_str()));
        let row = row.ok_or_else(|| Failure::not_found(&unknown))?;
        self.thread_row(scope, row.thread.as_str()).await.map_err(|failure| failure.if_missing(unknown))?;
        Ok(self.redacted(row))
    }

    /// Returns the runs of a thread, newest first.
    pub(crate) async fn runs(
        &self,
        scope: &Scope,
        thread: &str,
        request: RunSearch,
    ) -> Result<Vec<Value>, Failure> {
        let row = self.thread_row(scope, thread).await?;
        let query = RunQuery {
            thread: Some(row.id),
            statuses: request.status.into_iter().collect(),
            offset: request.page.offset,
            limit: request.page.limit,
        };
        let found = self.0.records.runs(&query).await?;
        let shown = |row| select(run(&self.redacted(row)), request.select.as_deref());
        Ok(found.rows.into_iter().map(shown).collect())
    }

    /// Returns the row of a run for clients, without the secrets of its request.
    pub(super) fn redacted(&self, row: RunRow) -> RunRow {
        let graph = self.0.graphs.named(row.graph.as_str());
        RunRow { kwargs: redacted(row.kwargs, graph), ..row }
    }

    /// Waits until a run has ended, and returns its row; `None` if it was deleted.
    ///
    /// # Errors
    /// Returns status 503 if the server has stopped before.
    pub(crate) async fn ended(&self, run: &RunRow) -> Result<Option<RunRow>, Failure> {
        let stopped = async {
            self.0.stopped.cancelled().await;
            let detail = "the server stops before the run has ended; join the run when it is back";
            Failure { retry_after: Some(1), ..Failure::new(503, detail) }
        };
        tokio::select! {
            biased;
            ended = self.0.hub.ended(run) => Ok(ended?),
            failure = stopped => Err(failure),
        }
    }

    /// Waits until a run has ended, and returns its values, with `__interrupt__` or `__error__`.
    pub(crate) async fn join(&self, _scope: &Scope, run: &RunRow) -> Result<Value, Failure> {
        let Some(run) = self.ended(run).await? else { return Ok(json!({})) };
        if let (RunStatus::Error | RunStatus::Timeout, Some(error)) = (run.status, &run.error) {
            return Ok(failed(&error.decode().unwrap_or_default()));
        }
        self.values_of(&run).await
    }

    /// Returns the values with which a run has ended, with `__interrupt__`.
    pub(super) async fn values_of(&self, run: &RunRow) -> Result<Value, Failure> {
        let graph = self.graph(run.graph.as_str())?;
        let Some(shown) = self.last_of(graph, run).await? else { return Ok(json!({})) };
        let state = shown.state(false);
        let mut values = state["values"].clone();
        if let Some(interrupts) = state["interrupts"].as_array().filter(|interrupts| !interrupts.is_empty()) {
            values["__interrupt__"] = json!(interrupts);
        }
        Ok(values)
    }

    /// Returns the last checkpoint of a run.
    async fn last_of(&self, graph: &AnyGraph, run: &RunRow) -> Result<Option<shown::Shown>, Failure> {
        let head = shown::head(graph, &run.thread).await?;
        let is_of_run = |shown: &shown::Shown| {
            shown.view.metadata.user.get(RUN_ID).is_some_and(|id| id.as_str() == Some(&run.id))
        };
        if head.as_ref().is_none_or(is_of_run) {
            return Ok(head);
        }
        let Some(saver) = graph.saver() else { return Ok(None) };
        let thread = graph.thread(run.thread.clone());
        let of_run = Json::encode(&run.id).ok();
        let history = saver.history(&run.thread, At::Head, LATER).await?;
        match history.iter().find(|summary| summary.metadata.get(RUN_ID) == of_run.as_ref()) {
            None => Ok(head),
            Some(last) => {
                let past = thread.at(last.id).await?;
                Ok(shown::past(graph, &thread, &past).await?)
            }
        }
    }

    /// Asks for the end of a run.
    pub(crate) async fn cancel(
        &self,
        _scope: &Scope,
        run: &RunRow,
        action: CancelAction,
    ) -> Result<(), Failure> {
        match self.0.records.cancel_run(&run.id, action, self.now_ms()).await? {
            Cancelled::Over => {
                let detail = "No matching runs to cancel. Please verify the thread ID and run IDs are correct, and the \
                              runs haven't already completed or been canceled.";
                return Err(Failure::not_found(detail));
            }
            Cancelled::Ended => {
                self.cancel_handed(run.clone());
                self.0.hub.wake(&run.thread);
            }
            Cancelled::Asked => match self.0.worker.control(&run.id) {
                Some(control) => control.stop(Stop::from(action)),
                None => self.0.hub.wake(&run.thread),
            },
        }
        self.0.worker.wake();
        Ok(())
    }

    /// Cancels the invocation of a run that has ended without a worker, if Restate has one.
    pub(super) fn cancel_handed(&self, run: RunRow) {
        if let Some(ingress) = &self.0.options.ingress {
            ingress.cancel_later(run);
        }
    }

    /// Asks for the end of several runs.
    pub(crate) async fn cancel_many(&self, scope: &Scope, request: CancelMany) -> Result<(), Failure> {
        let thread = match &request.thread {
            Some(thread) => Some(self.thread_row(scope, thread).await?.id),
            None => None,
        };
        let runs = match &request.runs {
            Some(ids) => {
                let mut runs = Vec::new();
                for id in ids {
                    runs.extend(found(self.run_row(scope, request.thread.as_deref(), id).await)?);
                }
                runs
            }
            None => {
                let statuses = request.statuses.clone();
                let query = RunQuery { thread, statuses, offset: 0, limit: usize::MAX };
                self.0.records.runs(&query).await?.rows
            }
        };
        let mut cancelled = 0;
        for run in runs {
            let is_visible = found(self.run_row(scope, None, &run.id).await)?.is_some();
            if is_visible && found(self.cancel(scope, &run, request.action).await)?.is_some() {
                cancelled += 1;
            }
        }
        match cancelled {
            0 => Err(Failure::not_found("No matching runs to cancel.")),
            _ => Ok(()),
        }
    }

    /// Deletes the row of a run that has ended.
    pub(crate) async fn delete_run(&self, scope: &Scope, thread: &str, id: &str) -> Result<(), Failure> {
        let run = self.run_row(scope, Some(thread), id).await?;
        match self.0.records.delete_run(&run.id).await? {
            true => Ok(()),
            false => Err(Failure::conflict(format!("Run {id} has not ended; cancel it first"))),
        }
    }

    /// Returns the number of pending and of running runs.
    pub(crate) async fn open_runs(&self) -> Result<(u64, u64), Failure> {
        let count = |status| RunQuery { thread: None, statuses: vec![status], offset: 0, limit: 0 };
        let pending = self.0.records.runs(&count(RunStatus::Pending)).await?.total;
        Ok((pending, self.0.records.runs(&count(RunStatus::Running)).await?.total))
    }

    /// Reads a row, to check that the store works.
    pub(crate) async fn check_store(&self) -> Result<(), Failure> {
        self.0.records.thread(&thread_id("ok")).await?;
        Ok(())
    }
}

/// Returns `None` for something that does not exist.
fn found<T>(result: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match result {
        Err(failure) if failure.status == 404 => Ok(None),
        other => other.map(Some),
    }
}

/// Returns a request for a run of one of these graphs, without values for their secret fields.
pub(super) fn redacted<'g>(request: Json, graphs: impl IntoIterator<Item = &'g AnyGraph>) -> Json {
    let fields = graphs.into_iter().flat_map(|graph| &graph.description().schema.fields);
    let secret: Vec<&str> = fields.filter(|field| field.secret).map(|field| &*field.name).collect();
    if secret.is_empty() {
        return request;
    }
    let mut shown: Value = request.decode().unwrap_or_default();
    for place in ["/input", "/command/update"] {
        for (name, value) in shown.pointer_mut(place).and_then(Value::as_object_mut).into_iter().flatten() {
            if secret.contains(&name.as_str()) {
                *value = json!("<secret>");
            }
        }
    }
    Json::encode(&shown).expect("a request has a JSON form")
}
