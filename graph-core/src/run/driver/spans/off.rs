//! Spans without the feature `tracing`.

use std::fmt::Display;
use std::future::Future;

use crate::id::{NodeName, RunId, ThreadId};

/// An empty span, because the feature `tracing` is off.
#[derive(Clone)]
pub(in crate::run) struct Span;

impl Span {
    pub(in crate::run) fn none() -> Self {
        Self
    }

    pub(in crate::run) fn run(_graph: &NodeName, _thread: &ThreadId, _run: RunId) -> Self {
        Self
    }

    pub(in crate::run) fn superstep(_step: i64, _tasks: usize) -> Self {
        Self
    }

    pub(in crate::run) fn task(&self, _node: &NodeName, _step: i64, _task: u32, _attempt: u32) -> Self {
        Self
    }

    pub(in crate::run) fn outcome(&self, _outcome: &dyn Display) {}

    pub(in crate::run) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }

    pub(in crate::run) fn around<F: Future>(&self, future: F) -> F {
        future
    }
}
