//! Edits as nodes, about to be made.

use std::boxed::Box;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::vec::Vec;

use super::any::AnyState;
use super::thread::Thread;
use crate::graph::{NodeRef, SelectNodes};
use crate::id::{CheckpointId, NodeName, ThreadId};
use crate::node::{Done, IntoOutcome, JsonOutcome};
use crate::run::driver::edit_as::edit_as;
use crate::run::driver::given::{Given, Outcome};
use crate::run::runtime::error::RunError;
use crate::run::runtime::shared::Runtime;
use crate::state::State;

/// An edit as one node or as several, ready to be made: await it.
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
    /// An edit as no node yet.
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
    /// Edits the thread as if `node` had run and given `outcome`, which is anything that the node may return: its
    /// update, its decision, or both. The node's routes, branches and edges say what follows.
    ///
    /// - A node that is next finishes its task so. The other tasks stay next with what they have done, and when
    ///   none is left the superstep ends.
    /// - A node that is not next finishes a superstep of its own. What follows from it is next, in the place of what
    ///   it has led to before. Where that would drop what other nodes have led to, nothing is done.
    ///
    /// Several nodes are edited as in one superstep with [`and_as`](EditRequest::and_as). A thread that never ran
    /// begins so, too.
    ///
    /// # Errors
    /// When it would drop work of others ([`ThreadError::WouldDrop`](crate::run::ThreadError::WouldDrop)), the routing fails, the writes conflict,
    /// another run was faster, or the store fails.
    pub fn edit_as<In, R, O>(&self, node: NodeRef<In, R>, outcome: O) -> EditRequest<S>
    where
        O: IntoOutcome<S, Route = R>,
    {
        EditRequest::<S>::new(self.shared_runtime(), self.id().clone()).and_as(node, outcome)
    }

    /// Like [`edit_as`](Self::edit_as), for a node that is known by its stored name.
    ///
    /// A node of a [described](crate::graph::Description) graph takes what its function may return: a
    /// [`JsonOutcome`](crate::node::JsonOutcome) names the case that it chooses, and is checked as the node's own.
    ///
    /// # Errors
    /// Also when the graph has no such node, the node decides by another type, or its description has no such case.
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
