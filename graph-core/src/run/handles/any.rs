//! Graphs without their state type.

use super::any_state::AnyState;
use super::edit_request::EditRequest;
use super::graph::Graph;
use super::thread::Thread;
use crate::id::NodeName;
use crate::node::JsonOutcome;
use crate::state::StateForm;

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
}
