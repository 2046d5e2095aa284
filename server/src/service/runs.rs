//! Runs: created, awaited, cancelled.

use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};
use superstep_core::checkpoint::{At, CheckpointerExt};
use superstep_core::records::life::{Admitted, Cancelled};
use superstep_core::records::{
    AssistantRow, Calls, CancelAction, Expiry, ExpiryStrategy, RunQuery, RunRow, RunStatus, ThreadChange,
    ThreadRow, ThreadStatus,
};
use superstep_core::run::AnyGraph;
use superstep_core::state::Json;

use super::shown;
use super::state::{checkpoint_id, thread_id};
use super::{Scope, Service, new_id};
use crate::wire::request::{Action, Kwargs, Nodes, RunCreate};
use crate::wire::run::{CancelMany, RunSearch, failed, run};
use crate::wire::select::select;
use crate::wire::{Failure, ids, values};
use crate::work::{ASKED, RUN_ID, Stop, by_id};

/// The time for which the thread of a run on a temporary one is kept after the run, in minutes, so that waiting
/// clients can read its state.
const TEMPORARY: f64 = 0.5;

/// The number of checkpoints of later runs that are looked at for the state with which a run ended.
const LATER: usize = 64;

/// The error of a run that is refused because another one is working on its thread.
pub(crate) const BUSY: &str =
    "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.";

const MISSING: &str = "Thread or assistant not found.";

impl Service {
    /// Accepts a run on a thread, or on one of its own.
    pub(crate) async fn create_run(
        &self,
        scope: &Scope,
        thread: Option<&str>,
        request: RunCreate,
    ) -> Result<RunRow, Failure> {
        if self.0.stop.is_cancelled() {
            let detail = "the server stops and starts no further run; send the request again when it is back";
            return Err(Failure { retry_after: Some(1), ..Failure::new(503, detail) });
        }
        if self.0.pending.load(Ordering::Relaxed) >= self.0.options.most_pending {
            let detail = "too many runs wait; try again later";
            return Err(Failure { retry_after: Some(5), ..Failure::new(429, detail) });
        }
        let (assistant, graph) = self.check_request(scope, &request).await?;
        let missing = |failure: Failure| failure.if_missing(MISSING);
        let row = self.thread_for(scope, thread, &request).await.map_err(missing)?;
        if let Some(other) = row.graph.as_ref().filter(|other| *other != graph.name()) {
            let detail =
                format!("the thread belongs to graph {other}; a run of graph {} needs another", graph.name());
            return Err(Failure::conflict(detail));
        }
        let asked = self.check_start(graph, &row, &request.kwargs).await?;
        let run = self.new_run(&row, &assistant, graph, request, asked);
        self.note_run(&row, &assistant, &run).await?;
        match self.0.records.create_run(run.clone()).await? {
            Admitted::Stored { asked, ended } => {
                for (id, _) in ended {
                    self.cancel_handed(RunRow { id, ..run.clone() });
                }
                self.0.pending.fetch_add(1, Ordering::Relaxed);
                for other in asked {
                    if let Some(control) = self.0.worker.control(&other) {
                        let is_rollback = run.multitask == superstep_core::records::Multitask::Rollback;
                        control.stop(if is_rollback { Stop::Rollback } else { Stop::Interrupt });
                    }
                }
                self.0.hub.wake(&run.thread);
                self.0.worker.wake();
                Ok(self.redacted(run))
            }
            Admitted::Busy => Err(Failure::conflict(BUSY)),
            Admitted::Exists => Err(Failure::conflict(format!("Run with ID {} already exists", run.id))),
        }
    }

    /// Checks the part of a request that depends on no thread. Returns the assistant and its graph.
    pub(crate) async fn check_request<'s>(
        &'s self,
        scope: &Scope,
        request: &RunCreate,
    ) -> Result<(AssistantRow, &'s AnyGraph), Failure> {
        let kwargs = &request.kwargs;
        self.check_webhook(kwargs.webhook.as_deref())?;
        let assistant = self.assistant_row(scope, &request.assistant).await;
        let assistant = assistant.map_err(|failure| failure.if_missing(MISSING))?;
        let graph = self.graph(assistant.graph.as_str())?;
        check_nodes(graph, kwargs)?;
        if let Action::Input(input) = kwargs.action() {
            graph.check_input(&values::incoming(input, &graph.description().schema, ""))?;
        }
        Ok((assistant, graph))
    }

    /// Checks that the server may call the webhook of a request.
    fn check_webhook(&self, address: Option<&str>) -> Result<(), Failure> {
        address.map_or(Ok(()), |address| self.0.options.webhooks.check(address))
    }

    /// Returns the thread of a new run, which is created if the request says so.
    async fn thread_for(
        &self,
        scope: &Scope,
        thread: Option<&str>,
        request: &RunCreate,
    ) -> Result<ThreadRow, Failure> {
        let Some(id) = thread else {
            let mut row = self.new_row(scope, &new_id(), Map::new(), None);
            if !request.keeps_thread {
                row.expiry = Some(Expiry::new(TEMPORARY, ExpiryStrategy::Delete, self.now_ms()));
            }
            return Ok(self.0.records.insert_thread(row).await?.0);
        };
        match self.thread_row(scope, id).await {
            Err(failure) if failure.status == 404 && request.creates_thread => {
                ids::check("thread", id)?;
                let (row, _) =
                    self.0.records.insert_thread(self.new_row(scope, id, Map::new(), None)).await?;
                if scope.admits(&row.metadata) { Ok(row) } else { Err(failure) }
            }
            row => row,
        }
    }

    /// Checks the part of a request that depends on the thread. Returns the questions that are open.
    async fn check_start(
        &self,
        graph: &AnyGraph,
        row: &ThreadRow,
        kwargs: &Kwargs,
    ) -> Result<Option<Vec<String>>, Failure> {
        let thread = graph.thread(row.id.clone());
        if let Some(checkpoint) =
            kwargs.checkpoint.as_ref().filter(|checkpoint| checkpoint.namespace.is_empty())
            && let Some(id) = &checkpoint.id
        {
            let missing = |error| Failure::from(error).if_missing(format!("Checkpoint {id} not found"));
            thread.at(checkpoint_id(id)?).await.map_err(missing)?;
            return Ok(None);
        }
        let resume = kwargs.command.as_ref().and_then(|command| command.resume.as_ref());
        let Some(resume) = resume.filter(|_| row.status != ThreadStatus::Busy) else { return Ok(None) };
        let head = match thread.head().await {
            Ok(head) => head,
            Err(superstep_core::run::ThreadError::NeverRan(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let open: Vec<_> = head.interrupts().iter().map(|ask| ask.id).collect();
        let list = || open.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match (by_id(resume), open.as_slice()) {
            (Some(answers), _) => {
                for (id, answer) in &answers {
                    if kwargs.strict_resume && !open.contains(id) {
                        let detail = format!("question {id} is not open; the open questions are: {}", list());
                        return Err(Failure::invalid(detail));
                    }
                    head.check_answer(*id, answer)?;
                }
            }
            (None, [only]) => {
                let answer = Json::encode(resume).map_err(|error| Failure::invalid(error.to_string()))?;
                head.check_answer(*only, &answer)?;
            }
            (None, []) => {}
            (None, _) => {
                let detail = format!(
                    "the thread asks {} questions; answer with an object by id: {}",
                    open.len(),
                    list()
                );
                return Err(Failure::invalid(detail));
            }
        }
        Ok(Some(open.iter().map(ToString::to_string).collect()))
    }

    fn new_run(
        &self,
        thread: &ThreadRow,
        assistant: &AssistantRow,
        graph: &AnyGraph,
        request: RunCreate,
        asked: Option<Vec<String>>,
    ) -> RunRow {
        let now = self.now_ms();
        // A time that no clock reaches never comes.
        let delay =
            std::time::Duration::try_from_secs_f64(request.after_seconds).unwrap_or(std::time::Duration::MAX);
        let mut kwargs = configured(request.kwargs, assistant);
        kwargs.temporary = thread.expiry.is_some_and(|expiry| expiry.minutes <= TEMPORARY);
        let calls = kwargs.webhook.is_some().then(Calls::default);
        let mut kwargs = json!(kwargs);
        if let Some(asked) = asked {
            kwargs[ASKED] = json!(asked);
        }
        RunRow {
            id: new_id(),
            thread: thread.id.clone(),
            assistant: assistant.id.clone(),
            graph: graph.name().clone(),
            status: RunStatus::Pending,
            kwargs: Json::encode(&kwargs).expect("a request has a JSON form"),
            metadata: request.metadata,
            multitask: request.multitask,
            created_ms: now,
            updated_ms: now,
            not_before_ms: now.saturating_add(crate::clock::millis(delay)),
            owner: None,
            until_ms: 0,
            attempt: 0,
            lost: 0,
            cancel: None,
            error: None,
            calls,
        }
    }

    /// Adds the graph and the assistant of a thread's run to the thread's metadata.
    async fn note_run(&self, row: &ThreadRow, assistant: &AssistantRow, run: &RunRow) -> Result<(), Failure> {
        let entries = [("graph_id", json!(run.graph)), ("assistant_id", json!(assistant.id))];
        let metadata: Map<_, _> = entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let is_known = metadata.iter().all(|(name, value)| row.metadata.get(name) == Some(value));
        if !is_known {
            let graph = Some(run.graph.clone());
            let change = ThreadChange { metadata: Some(metadata), graph, ..ThreadChange::default() };
            self.0.records.change_thread(&row.id, change, self.now_ms()).await?;
        }
        Ok(())
    }

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

/// Checks that the nodes of a request exist.
fn check_nodes(graph: &AnyGraph, kwargs: &Kwargs) -> Result<(), Failure> {
    let named =
        [("interrupt_before", &kwargs.interrupt_before), ("interrupt_after", &kwargs.interrupt_after)];
    for (member, nodes) in named {
        let Some(Nodes::Named(nodes)) = nodes else { continue };
        let unknown = nodes.iter().find(|name| graph.nodes().all(|node| node.as_str() != name.as_str()));
        if let Some(name) = unknown {
            return Err(Failure::invalid(format!("{member}: graph {} has no node {name:?}", graph.name())));
        }
    }
    let targets = kwargs.command.iter().flat_map(|command| &command.goto);
    match targets.map(|goto| &goto.node).find(|name| graph.nodes().all(|node| node.as_str() != name.as_str()))
    {
        Some(name) => Err(Failure::bad_request(format!("Node {name} does not exist"))),
        None => Ok(()),
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

/// Adds the configuration and context of an assistant to a request, whose own entries take precedence.
fn configured(mut kwargs: Kwargs, assistant: &AssistantRow) -> Kwargs {
    let stored: Map<String, Value> = assistant.config.decode().unwrap_or_default();
    let mut configurable: Map<String, Value> =
        stored.get("configurable").and_then(Value::as_object).cloned().unwrap_or_default();
    configurable.extend(kwargs.config.configurable);
    kwargs.config.configurable = configurable;
    let limit = stored.get("recursion_limit").and_then(Value::as_u64);
    kwargs.config.recursion_limit = kwargs.config.recursion_limit.or(limit);
    let mut context: Map<String, Value> = assistant.context.decode().unwrap_or_default();
    context.extend(kwargs.context);
    kwargs.context = context;
    kwargs
}
