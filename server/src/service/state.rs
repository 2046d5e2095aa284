//! States of threads: the current one, the past, and changes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use superstep_core::checkpoint::Source;
use superstep_core::graph::EveryNode;
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::node::JsonOutcome;
use superstep_core::records::{ThreadChange, ThreadRow, ThreadStatus, contains};
use superstep_core::run::{AnyGraph, AnyState, RunError, Thread, ThreadError};

use super::below::Below;
use super::branches::Branches;
use super::shown::{self, Shown, Successors};
use super::{Scope, Service};
use crate::wire::checkpoint::updated;
use crate::wire::select::select;
use crate::wire::state;
use crate::wire::state_request::{HistoryRequest, StateAt, StateUpdate};
use crate::wire::{Failure, values};
use crate::work::{branched, original, resting};

/// The node that stands for the end of a thread's work.
const END: &str = "__end__";

/// The nodes that stand for the input of a run.
const INPUTS: [&str; 2] = ["__input__", "__start__"];

impl Service {
    /// Returns a state of a thread.
    pub(crate) async fn state(&self, scope: &Scope, id: &str, at: StateAt) -> Result<Value, Failure> {
        let row = self.thread_row(scope, id).await?;
        let graph = self.graph_of(&row)?;
        let selected = at.select.as_deref();
        let Some(graph) = graph else { return Ok(select(state::empty(), selected)) };
        let checkpoint = at.checkpoint.id.as_deref().map(checkpoint_id).transpose()?;
        let shown = match (checkpoint, at.checkpoint.namespace.as_str()) {
            (None, "") => shown::head(graph, &row.id).await?,
            (Some(id), "") => past(graph, &row.id, id).await?,
            (id, namespace) => {
                let below = Below::find(graph, &row.id, namespace).await?;
                return Ok(select(below.state(id).await?, selected));
            }
        };
        let state = shown.map_or_else(state::empty, |shown| shown.state(at.subgraphs));
        Ok(select(state, selected))
    }

    /// Returns the states of a thread, newest first.
    pub(crate) async fn history(
        &self,
        scope: &Scope,
        id: &str,
        request: HistoryRequest,
    ) -> Result<Vec<Value>, Failure> {
        let row = self.thread_row(scope, id).await?;
        let Some(graph) = self.graph_of(&row)? else { return Ok(Vec::new()) };
        let before = request.before.as_deref().map(checkpoint_id).transpose()?;
        if !request.namespace.is_empty() {
            let below = Below::find(graph, &row.id, &request.namespace).await?;
            let fits = |metadata: &Value| has(metadata, &request.metadata);
            return below.history(before, request.limit, fits).await;
        }
        let thread = graph.thread(row.id.clone());
        let saver = graph.saver().ok_or(ThreadError::NoCheckpointer)?;
        let (mut states, mut skips) = (Vec::new(), before);
        let (mut branches, mut successors) = (Branches::new(saver, &row.id), Successors::default());
        while states.len() < request.limit
            && let Some(summary) = branches.next().await?
        {
            successors.note(&summary);
            if summary.source == Source::Pruned {
                continue;
            }
            if skips.is_some() {
                let id = original(&summary.metadata).flatten().unwrap_or(summary.id);
                skips = skips.filter(|before| *before != id && *before != summary.id);
                continue;
            }
            let past = thread.at(summary.id).await?;
            let Some(mut shown) = shown::past(graph, &thread, &past).await? else { continue };
            if let Some(next) = successors.add_results(summary.id, &mut shown.view) {
                state::add_results(&mut shown.view, &thread.at(next).await?.view().metadata);
            }
            successors.keep(&shown.view);
            let state = shown.state(false);
            states.extend(Some(state).filter(|state| has(&state["metadata"], &request.metadata)));
        }
        match skips {
            Some(before) => Err(Failure::not_found(format!("Thread {id} has no checkpoint {before}"))),
            None => Ok(states),
        }
    }

    /// Changes the state of a thread.
    pub(crate) async fn update_state(
        &self,
        scope: &Scope,
        id: &str,
        update: StateUpdate,
    ) -> Result<Value, Failure> {
        let row = self.thread_row(scope, id).await?;
        if row.status == ThreadStatus::Busy {
            return Err(Failure::conflict("Thread is already running a task. Wait for it to finish."));
        }
        let without = || Failure::bad_request(format!("Thread {id} has no graph ID; run it first"));
        let graph = self.graph_of(&row)?.ok_or_else(without)?;
        let thread = graph.thread(row.id.clone());
        if let Some(checkpoint) = &update.checkpoint {
            if !checkpoint.namespace.is_empty() {
                let detail = "the state of a subgraph cannot be changed; change the state of the thread";
                return Err(Failure::bad_request(detail));
            }
            if let Some(id) = checkpoint.id.as_deref().map(checkpoint_id).transpose()? {
                let past = thread.at(id).await?;
                let head = thread.head().await?;
                let is_head =
                    head.id() == id || original(&head.loaded().checkpoint.metadata) == Some(Some(id));
                if !is_head {
                    branched(&past, head.id(), BTreeMap::new()).await?;
                }
            }
        }
        let stored = self.apply(graph, &thread, &update).await?;
        self.rested(&thread).await?;
        Ok(updated(id, "", &stored.to_string()))
    }

    /// Stores an update, and returns the new checkpoint.
    pub(super) async fn apply(
        &self,
        graph: &AnyGraph,
        thread: &Thread<AnyState>,
        update: &StateUpdate,
    ) -> Result<CheckpointId, Failure> {
        let seed = super::new_id();
        let schema = &graph.description().schema;
        let read = |update: &Map<String, Value>| values::incoming(&json!(update), schema, &seed);
        let mut stored = None;
        let none = [Map::new()];
        let all: &[Map<String, Value>] = if update.values.is_empty() { &none } else { &update.values };
        for values in all {
            stored = Some(match update.as_node.as_deref() {
                Some(END) => {
                    if !values.is_empty() {
                        edit(thread, read(values)).await?;
                    }
                    thread.discard_pending().await?
                }
                Some(node) if INPUTS.contains(&node) => input(thread, read(values)).await?,
                Some(node) => {
                    let mut values = values.clone();
                    let route = values.remove("__route__");
                    let mut outcome = JsonOutcome::update(read(&values));
                    if let Some(case) = route.as_ref().and_then(Value::as_str) {
                        outcome = outcome.route(case);
                    }
                    edit_as(thread, node, outcome).await?
                }
                None => edit(thread, read(values)).await?,
            });
        }
        stored.ok_or_else(|| Failure::bad_request("the update changes nothing"))
    }

    /// Stores the status of a thread after a change of its state.
    pub(super) async fn rested(&self, thread: &Thread<AnyState>) -> Result<(), Failure> {
        let status = Some(resting(thread).await?);
        let change = ThreadChange { status, error: Some(None), is_state: true, ..ThreadChange::default() };
        self.0.records.change_thread(thread.id(), change, self.now_ms()).await?;
        Ok(())
    }

    /// Returns the graph of a thread; `None` before its first run.
    pub(super) fn graph_of(&self, row: &ThreadRow) -> Result<Option<&AnyGraph>, Failure> {
        let named = row.graph.as_ref().map(|graph| graph.as_str());
        let named = named.or_else(|| row.metadata.get("graph_id").and_then(Value::as_str));
        named.map(|name| self.graph(name)).transpose()
    }
}

/// Returns a checkpoint of a thread with the results of the superstep that followed it.
async fn past(graph: &AnyGraph, id: &ThreadId, at: CheckpointId) -> Result<Option<Shown>, Failure> {
    let thread = graph.thread(id.clone());
    let Some(mut shown) = shown::past(graph, &thread, &thread.at(at).await?).await? else { return Ok(None) };
    if !shown.view.tasks.is_empty()
        && let Some(next) = next_of(graph, id, at).await?
    {
        state::add_results(&mut shown.view, &thread.at(next).await?.view().metadata);
    }
    Ok(Some(shown))
}

/// Returns the checkpoint that the superstep after this one stored.
async fn next_of(
    graph: &AnyGraph,
    thread: &ThreadId,
    id: CheckpointId,
) -> Result<Option<CheckpointId>, Failure> {
    let mut branches = Branches::new(graph.saver().ok_or(ThreadError::NoCheckpointer)?, thread);
    let mut successors = Successors::default();
    while let Some(summary) = branches.next().await?
        && summary.id != id
        && successors.of(id).is_none()
    {
        successors.note(&summary);
    }
    Ok(successors.of(id))
}

/// Edits a thread. The first edit of a thread is its input.
async fn edit(thread: &Thread<AnyState>, update: Value) -> Result<CheckpointId, Failure> {
    match thread.edit(update.clone()).await {
        Err(ThreadError::NeverRan(_)) => Ok(input(thread, update).await?),
        stored => Ok(stored?),
    }
}

/// Edits a thread as a node. The tasks that follow from it replace those that were next.
async fn edit_as(
    thread: &Thread<AnyState>,
    node: &str,
    outcome: JsonOutcome,
) -> Result<CheckpointId, Failure> {
    let edited = match thread.edit_as_named(node, outcome.clone()).await {
        Err(RunError::Thread(ThreadError::WouldDrop { .. })) => {
            // The client chooses the node from which the thread continues. The history has the dropped tasks.
            thread.discard_pending().await?;
            thread.edit_as_named(node, outcome).await
        }
        edited => edited,
    };
    edited.map_err(|error| decision(error, node))
}

/// Gives a thread an input, and stops before the first nodes.
async fn input(thread: &Thread<AnyState>, input: Value) -> Result<CheckpointId, RunError> {
    let run = thread.run(input).interrupt_before(EveryNode).await?;
    run.checkpoint.ok_or_else(|| ThreadError::NoCheckpointer.into())
}

fn decision(error: RunError, node: &str) -> Failure {
    match error {
        RunError::Thread(ThreadError::WrongDecision { .. }) => Failure::bad_request(format!(
            "node {node:?} decides which nodes run next; name its case in the member \"__route__\" of the values"
        )),
        error => error.into(),
    }
}

/// Reads the id of a checkpoint. No checkpoint has another id.
pub(super) fn checkpoint_id(id: &str) -> Result<CheckpointId, Failure> {
    id.parse().map_err(|_| Failure::not_found(format!("Checkpoint {id} not found")))
}

/// Returns `true` if JSON metadata contains these entries.
pub(super) fn has(metadata: &Value, conditions: &Map<String, Value>) -> bool {
    conditions.is_empty() || contains(metadata, &Value::Object(conditions.clone()))
}

/// Returns the values and open questions of a thread, for its row.
pub(super) fn view_of(shown: Option<&Shown>) -> crate::wire::thread::ThreadView {
    let Some(shown) = shown else { return Default::default() };
    let state = shown.state(false);
    let interrupts = state::interrupts_by_task(&state);
    crate::wire::thread::ThreadView { values: Some(state["values"].clone()), interrupts }
}

/// Returns the id of a thread of a client.
pub(super) fn thread_id(id: &str) -> ThreadId {
    ThreadId::from(id)
}
