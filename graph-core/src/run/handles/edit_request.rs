//! Edits as nodes, about to be made.

use std::boxed::Box;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::vec::Vec;

use crate::graph::{NodeRef, SelectNodes};
use crate::id::{CheckpointId, NodeName, ThreadId};
use crate::node::{Done, IntoOutcome};
use crate::run::driver::play::{GivenOutcome, play};
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
    outcomes: Vec<GivenOutcome>,
    state: PhantomData<fn() -> S>,
}

impl<S: State> EditRequest<S> {
    pub(crate) fn new<O: IntoOutcome<S>>(
        runtime: Arc<Runtime>,
        thread: ThreadId,
        node: impl SelectNodes,
        outcome: O,
    ) -> Self {
        Self { runtime, thread, outcomes: Vec::with_capacity(1), state: PhantomData }.and(node, outcome)
    }

    /// Also plays this node, in the same superstep.
    pub fn and_as<In, R, O>(self, node: NodeRef<In, R>, outcome: O) -> Self
    where
        O: IntoOutcome<S, Route = R>,
    {
        self.and(node, outcome)
    }

    /// Also plays the node with this stored name, in the same superstep.
    pub fn and_as_named<O: IntoOutcome<S>>(self, node: impl Into<NodeName>, outcome: O) -> Self {
        self.and(node.into(), outcome)
    }

    fn and<O: IntoOutcome<S>>(mut self, node: impl SelectNodes, outcome: O) -> Self {
        let mut selected = Vec::with_capacity(1);
        node.select(&mut selected);
        self.outcomes.push((selected.remove(0), outcome.into_outcome().map(Done::from)));
        self
    }
}

impl<S: State> IntoFuture for EditRequest<S> {
    type Output = Result<CheckpointId, RunError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { runtime, thread, outcomes, .. } = self;
        Box::pin(play(runtime, thread, outcomes))
    }
}

impl<S> fmt::Debug for EditRequest<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EditRequest").field("thread", &self.thread).finish_non_exhaustive()
    }
}
