//! Graphs without their state type.

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use serde_json::Value;

use super::any_state::AnyState;
use super::edit_request::EditRequest;
use super::graph::Graph;
use super::past::Past;
use super::thread::Thread;
use crate::checkpoint::{At, CheckpointerExt, StoreError};
use crate::graph::Program;
use crate::id::{CheckpointId, NodeName, ThreadId};
use crate::node::JsonOutcome;
use crate::run::driver::edit::go_to;
use crate::run::past::state;
use crate::run::past::view::CheckpointView;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::{Json, Lifetime, StateForm};

/// A graph without its state type, for servers, debuggers and other programs that handle many graphs.
///
/// It is an ordinary [`Graph`] with every method: its threads accept updates as JSON objects and return states as
/// [`AnyState`], and its nodes have names only. Create one with [`Graph::erased`].
///
/// ```
/// # extern crate superstep_core as superstep;
/// use serde_json::json;
/// # use serde::{Deserialize, Serialize};
/// # use superstep::checkpoint::MemorySaver;
/// # use superstep::graph::{END, START, StateGraph};
/// # use superstep::node::{JsonOutcome, Snapshot};
/// use superstep::run::AnyGraph;
/// # use superstep::state::{State, Update};
/// # #[derive(State, Clone, Default, Serialize, Deserialize)]
/// # struct Essay { topic: String, draft: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut g = StateGraph::<Essay>::new("essay");
/// # let write = g.node("write", |essay: Snapshot<Essay>| async move {
/// #     Essay::update().draft(format!("{} is typed", essay.topic))
/// # });
/// # g.edge(START, write);
/// # g.edge(write, END);
/// # let essays = g.compile()?.checkpointer(MemorySaver::new());
/// let graphs: Vec<AnyGraph> = vec![essays.erased()];
///
/// let thread = graphs[0].thread("rust");
/// let run = thread.run(json!({ "topic": "Rust" })).await?;
/// assert_eq!(run.finished()?.to_json(), json!({ "topic": "Rust", "draft": "Rust is typed" }));
///
/// thread.edit(json!({ "topic": "Go" })).await?;
/// thread.edit_as_named("write", JsonOutcome::update(json!({ "draft": "…" }))).await?;
/// assert_eq!(thread.state().await?.values.to_json()["topic"], "Go");
///
/// let error = thread.run(json!({ "topik": "Go" })).await.unwrap_err();
/// assert!(error.to_string().starts_with("the input does not fit: the state has no field \"topik\""));
/// # Ok(())
/// # }
/// ```
pub type AnyGraph = Graph<AnyState>;

/// A graph that can be converted into an [`AnyGraph`], for arguments such as `&[&essays, &letters]`.
pub trait ToAnyGraph {
    /// Returns the graph without its state type.
    fn to_any_graph(&self) -> AnyGraph;
}

impl<S: StateForm> ToAnyGraph for Graph<S> {
    fn to_any_graph(&self) -> AnyGraph {
        self.erased()
    }
}

impl<S, C> Graph<S, C> {
    /// Returns the same graph without its state type.
    #[must_use]
    pub fn erased(&self) -> Graph<AnyState, C> {
        self.in_form()
    }
}

impl<C> Graph<AnyState, C> {
    /// Checks that an input fits the graph, without a run.
    ///
    /// # Errors
    /// Returns the error with which a run on this input would fail: [`Misfit`](ThreadError::Misfit), with the field and
    /// the nearest name.
    pub fn check_input(&self, input: &Value) -> Result<(), ThreadError> {
        let update = AnyState::write(input.clone(), self.initial(), self.runtime().read_input);
        update.map(drop).map_err(|misfit| ThreadError::misfit("the input", misfit))
    }
}

impl Thread<AnyState> {
    /// Edits the thread as if the node with this stored name had run and returned `outcome`. A node that decides
    /// takes the case that the outcome names, with its items as the payload.
    ///
    /// See [`Thread::edit_as`] for the effect of the edit.
    ///
    /// # Errors
    /// Returns the errors of that method, and an error if the graph has no such node, the update does not fit the
    /// state, or the node has no such case.
    pub fn edit_as_named(
        &self,
        node: impl Into<NodeName>,
        outcome: impl Into<JsonOutcome>,
    ) -> EditRequest<AnyState> {
        EditRequest::<AnyState>::new(self.shared_runtime(), self.id().clone()).and_as_named(node, outcome)
    }

    /// Stores `update`, if there is one, as a new checkpoint on top of the latest one, with these nodes next beside those
    /// that are: each with the item that it takes, or without one. [`resume`](Self::resume) runs them. `metadata` is added
    /// to the metadata of the checkpoint.
    ///
    /// # Errors
    /// Returns an error if the thread never ran, the graph has no such node, the update does not fit the state, another
    /// run was faster, or the store fails.
    pub async fn go_to(
        &self,
        update: Option<Value>,
        nodes: Vec<(NodeName, Option<Json>)>,
        metadata: BTreeMap<String, Json>,
    ) -> Result<CheckpointId, ThreadError> {
        let runtime = self.shared_runtime();
        let update =
            update.map(|update| AnyState::write(update, &*runtime.program.initial, None)).transpose();
        let update = update.map_err(|misfit| ThreadError::misfit("the edit", misfit))?;
        go_to(&runtime, self.id(), update, nodes, metadata).await
    }

    /// Reads a checkpoint of the thread of a subgraph as a JSON document. `nodes` are the nodes whose subgraphs lead to
    /// it from the graph at the top, `below` is its thread. Returns `None` if the subgraph has no such checkpoint. Lists
    /// and maps that were never written are in the values if they begin empty.
    ///
    /// # Errors
    /// Returns an error if the graph has no such nodes, or the store fails.
    pub async fn view_below(
        &self,
        nodes: &[NodeName],
        below: &ThreadId,
        at: At,
    ) -> Result<Option<CheckpointView>, ThreadError> {
        let runtime = self.shared_runtime();
        let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let mut program = &runtime.program;
        for node in nodes {
            let inner = program.topology.find(node).and_then(|id| program.node(id).subgraph.as_ref());
            program = inner.ok_or_else(|| ThreadError::no_such_node(&runtime.program.topology, node))?;
        }
        let loaded = match saver.read(below, at).await {
            Err(StoreError::NoCheckpoint { .. }) => None,
            loaded => loaded?,
        };
        Ok(loaded.map(|loaded| {
            let mut view = CheckpointView::of(program, below, &loaded);
            add_empty(program, &mut view);
            view
        }))
    }

    /// Adds the lists and maps that were never written and begin empty to the values of a checkpoint of this thread.
    pub fn add_empty_values(&self, view: &mut CheckpointView) {
        add_empty(&self.shared_runtime().program, view);
    }
}

impl Past<AnyState> {
    /// Works like [`view`](Self::view), with lists and maps that were never written in the values if they begin empty.
    pub fn whole_view(&self) -> CheckpointView {
        let mut view = self.view();
        let (runtime, ..) = self.parts();
        add_empty(&runtime.program, &mut view);
        view
    }

    /// Returns the values of the fields that finished tasks of an unfinished superstep wrote, with their writes, by
    /// field. The values of [`whole_view`](Self::whole_view) are those before the superstep.
    ///
    /// # Errors
    /// Returns an error if the results of the tasks cannot be merged.
    pub fn unmerged_values(&self) -> Result<BTreeMap<String, Value>, ThreadError> {
        let (runtime, _, loaded) = self.parts();
        let written = state::written(&runtime.program, loaded)?;
        let read = |value: Json| value.decode().expect("a value of a state has a JSON form");
        Ok(written.into_iter().map(|(field, value)| (field, read(value))).collect())
    }
}

/// Adds fields that were never written, if they are lists or maps that begin empty: readers go through their items.
fn add_empty(program: &Program, view: &mut CheckpointView) {
    for id in program.schema.ids() {
        let field = program.schema.field(id);
        if field.lifetime != Lifetime::Stored || field.secret || view.values.contains_key(&field.name) {
            continue;
        }
        let initial = program.initial.encode_field(id).ok().and_then(|value| value.decode().ok());
        let is_empty = initial.as_ref().is_some_and(|initial: &Value| match initial {
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        });
        if let Some(initial) = initial.filter(|_| is_empty) {
            view.values.insert(field.name.clone(), initial);
        }
    }
}
