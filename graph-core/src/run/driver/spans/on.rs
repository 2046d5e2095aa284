//! Spans with the feature `tracing`.

use std::boxed::Box;
use std::fmt::Display;
use std::future::Future;

use tracing::field::Empty;
use tracing::instrument::Instrumented;
use tracing::level_filters::LevelFilter;
use tracing::{Instrument, info_span};

use crate::id::{NodeName, RunId, ThreadId};

/// A span, or none if it has no subscriber, which keeps it small.
#[derive(Clone)]
pub(in crate::run) struct Span(Option<Box<tracing::Span>>);

impl Span {
    /// Creates a span if it may have a subscriber. Usually there is none, which `tracing` reports at once.
    fn new(span: impl FnOnce() -> tracing::Span) -> Self {
        if LevelFilter::current() < LevelFilter::INFO {
            return Self::none();
        }
        let span = span();
        Self((!span.is_disabled()).then(|| Box::new(span)))
    }

    pub(in crate::run) fn none() -> Self {
        Self(None)
    }

    pub(in crate::run) fn run(graph: &NodeName, thread: &ThreadId, run: RunId) -> Self {
        let (graph, thread) = (graph.as_str(), thread.as_str());
        Self::new(|| info_span!(target: "superstep", "run", graph, thread, %run, outcome = Empty))
    }

    /// Creates the span of a superstep inside the run's span, which is entered.
    pub(in crate::run) fn superstep(step: i64, tasks: usize) -> Self {
        Self::new(|| info_span!(target: "superstep", "superstep", step, tasks))
    }

    /// Creates the span of an attempt of a task in this superstep.
    pub(in crate::run) fn task(&self, node: &NodeName, step: i64, task: u32, attempt: u32) -> Self {
        Self::new(|| {
            let node = node.as_str();
            let superstep = self.0.as_ref().and_then(|superstep| superstep.id());
            info_span!(target: "superstep", parent: superstep, "task", node, step, task, attempt, outcome = Empty)
        })
    }

    pub(in crate::run) fn outcome(&self, outcome: &dyn Display) {
        if let Some(span) = &self.0 {
            span.record("outcome", tracing::field::display(outcome));
        }
    }

    pub(in crate::run) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(span) => span.in_scope(work),
            None => work(),
        }
    }

    pub(in crate::run) fn around<F: Future>(&self, future: F) -> Instrumented<F> {
        future.instrument(self.0.as_deref().cloned().unwrap_or_else(tracing::Span::none))
    }
}
