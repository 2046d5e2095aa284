//! New runs: their requests are checked, and they are stored for the worker.

use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};
use superstep_core::records::life::Admitted;
use superstep_core::records::{
    AssistantRow, Calls, Expiry, ExpiryStrategy, RunRow, RunStatus, ThreadChange, ThreadRow, ThreadStatus,
};
use superstep_core::run::AnyGraph;
use superstep_core::state::Json;

use super::state::checkpoint_id;
use super::{Scope, Service, new_id};
use crate::wire::request::{Action, Kwargs, Nodes, RunCreate};
use crate::wire::{Failure, ids, values};
use crate::work::{ASKED, Stop, by_id};

/// The time for which the thread of a run on a temporary one is kept after the run, in minutes, so that waiting
/// clients can read its state.
const TEMPORARY: f64 = 0.5;

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
