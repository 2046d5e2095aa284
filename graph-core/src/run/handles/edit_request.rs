//! Requests for edits as nodes.

use std::boxed::Box;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::vec::Vec;

use super::any_state::AnyState;
use super::thread::Thread;
use crate::graph::{NodeRef, SelectNodes};
use crate::id::{CheckpointId, NodeName, ThreadId};
use crate::node::{Done, IntoOutcome, JsonOutcome};
use crate::run::driver::edit_as::edit_as;
use crate::run::driver::given::{Given, Outcome};
use crate::run::runtime::error::RunError;
use crate::run::runtime::shared::Runtime;
use crate::state::State;

/// An edit as one or several nodes. Await it to make the edit.
///
/// ```text
/// thread.edit_as(review, Verdict::Accept).await?;
/// thread.edit_as(left, update).and_as(right, other).await?;      // in one superstep
/// ```
#[must_use = "an edit is made when it is awaited"]
pub struct EditRequest<S> {
    runtime: Arc<Runtime>,
    thread: ThreadId,
    outcomes: Vec<Given>,
    state: PhantomData<fn() -> S>,
}

impl<S> EditRequest<S> {
    /// Creates an edit without nodes.
    pub(super) fn new(runtime: Arc<Runtime>, thread: ThreadId) -> Self {
        Self { runtime, thread, outcomes: Vec::with_capacity(1), state: PhantomData }
    }

    fn and(mut self, node: impl SelectNodes, outcome: Outcome) -> Self {
        let mut selected = Vec::with_capacity(1);
        node.select(&mut selected);
        self.outcomes.push(Given { node: selected.remove(0), outcome });
        self
    }
}

impl<S: State> Thread<S> {
    /// Edits the thread as if `node` had run and returned `outcome`, which is anything that the node may return:
    /// its update, its decision, or both. The node's routes, branches and edges determine the next tasks.
    ///
    /// - For a node that is next, the edit finishes its task. The other tasks stay next with their work, and if
    ///   none is left, the superstep ends.
    /// - For a node that is not next, the edit adds a superstep. The tasks that follow from it replace those that
    ///   the node led to before. If that would drop tasks that other nodes led to, the edit fails.
    ///
    /// To edit as several nodes in one superstep, use [`and_as`](EditRequest::and_as). The edit can also begin a
    /// thread that never ran.
    ///
    /// # Errors
    /// Returns an error if it would drop work of other nodes
    /// ([`ThreadError::WouldDrop`](crate::run::ThreadError::WouldDrop)), the routing fails, the writes conflict,
    /// another run was faster, or the store fails.
    pub fn edit_as<In, R, O>(&self, node: NodeRef<In, R>, outcome: O) -> EditRequest<S>
    where
        O: IntoOutcome<S, Route = R>,
    {
        EditRequest::<S>::new(self.shared_runtime(), self.id().clone()).and_as(node, outcome)
    }

    /// Works like [`edit_as`](Self::edit_as), for a node with this stored name.
    ///
    /// For a node of a [described](crate::graph::Description) graph, the outcome is what its function may return: a
    /// [`JsonOutcome`](crate::node::JsonOutcome) names the chosen case, and is checked like the node's own result.
    ///
    /// # Errors
    /// Also returns an error if the graph has no such node, the node has another decision type, or its description
    /// has no such case.
    pub fn edit_as_named<O: IntoOutcome<S>>(&self, node: impl Into<NodeName>, outcome: O) -> EditRequest<S> {
        EditRequest::<S>::new(self.shared_runtime(), self.id().clone()).and_as_named(node, outcome)
    }
}

impl<S: State> EditRequest<S> {
    /// Also edits as this node, in the same superstep.
    pub fn and_as<In, R, O>(self, node: NodeRef<In, R>, outcome: O) -> Self
    where
        O: IntoOutcome<S, Route = R>,
    {
        self.and(node, typed::<S, O>(outcome))
    }

    /// Also edits as the node with this stored name, in the same superstep.
    pub fn and_as_named<O: IntoOutcome<S>>(self, node: impl Into<NodeName>, outcome: O) -> Self {
        self.and(node.into(), typed::<S, O>(outcome))
    }
}

impl EditRequest<AnyState> {
    /// Also edits as the node with this stored name, in the same superstep.
    pub fn and_as_named(self, node: impl Into<NodeName>, outcome: impl Into<JsonOutcome>) -> Self {
        self.and(node.into(), Outcome::Json(outcome.into()))
    }
}

fn typed<S: State, O: IntoOutcome<S>>(outcome: O) -> Outcome {
    Outcome::Typed(outcome.into_outcome().map(Done::from))
}

impl<S> IntoFuture for EditRequest<S> {
    type Output = Result<CheckpointId, RunError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { runtime, thread, outcomes, .. } = self;
        Box::pin(edit_as(runtime, thread, outcomes))
    }
}

impl<S> fmt::Debug for EditRequest<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EditRequest").field("thread", &self.thread).finish_non_exhaustive()
    }
}
