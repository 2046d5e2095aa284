//! Spans as `tracing` has them.

use std::fmt::Display;
use std::future::Future;

use tracing::field::Empty;
use tracing::instrument::Instrumented;
use tracing::{Instrument, info_span};

use crate::id::{NodeName, RunId, ThreadId};

/// A span; where nobody subscribes, none.
#[derive(Clone)]
pub(in crate::run) struct Span(tracing::Span);

impl Span {
    pub(in crate::run) fn none() -> Self {
        Self(tracing::Span::none())
    }

    pub(in crate::run) fn run(graph: &NodeName, thread: &ThreadId, run: RunId) -> Self {
        let (graph, thread) = (graph.as_str(), thread.as_str());
        Self(info_span!(target: "superstep", "run", graph, thread, %run, outcome = Empty))
    }

    /// A superstep of the run whose span is entered.
    pub(in crate::run) fn superstep(step: i64, tasks: usize) -> Self {
        Self(info_span!(target: "superstep", "superstep", step, tasks))
    }

    /// An attempt of a task of this superstep.
    pub(in crate::run) fn task(&self, node: &NodeName, step: i64, task: u32, attempt: u32) -> Self {
        let node = node.as_str();
        Self(
            info_span!(target: "superstep", parent: &self.0, "task", node, step, task, attempt, outcome = Empty),
        )
    }

    pub(in crate::run) fn outcome(&self, outcome: &dyn Display) {
        if !self.0.is_none() {
            self.0.record("outcome", tracing::field::display(outcome));
        }
    }

    pub(in crate::run) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.in_scope(work)
    }

    pub(in crate::run) fn around<F: Future>(&self, future: F) -> Instrumented<F> {
        future.instrument(self.0.clone())
    }
}
