//! The policies of a node, as set through the builder.

use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use super::builder::StateGraph;
use crate::node::{Cache, NoInput, OnMismatch, OnUnknown, Policy, Retry};
use crate::state::State;

/// The policies of one node, with methods to set them. Its type contains the node's input and decision.
pub struct PolicyOf<'g, S: State, C = (), In = NoInput, Out = ()> {
    pub(super) graph: &'g mut StateGraph<S, C>,
    pub(super) node: u32,
    marker: PhantomData<fn(In) -> Out>,
}

impl<'g, S: State, C: Send + Sync + 'static, In, Out> PolicyOf<'g, S, C, In, Out> {
    pub(super) fn new(graph: &'g mut StateGraph<S, C>, node: u32) -> Self {
        Self { graph, node, marker: PhantomData }
    }

    fn set(self, change: impl FnOnce(&mut Policy)) -> Self {
        change(&mut self.graph.program(self.node).policy);
        self
    }

    /// Retries the node when it fails.
    ///
    /// Several calls give the node several policies, and the first one that covers an error decides. The number of
    /// attempts counts all failures: a policy with three attempts never allows a fourth attempt of the node, even
    /// if another policy allowed the earlier ones.
    pub fn retry(self, retry: Retry) -> Self {
        self.set(|policy| policy.retries.push(retry))
    }

    /// Limits the duration of each attempt.
    ///
    /// An attempt that takes longer is dropped at its next await and fails. Its writes are discarded, and no code
    /// in the node can prevent that.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set(|policy| policy.timeout = Some(timeout))
    }

    /// Abandons an attempt that sends no heartbeat for this long.
    ///
    /// Heartbeats are events of [`Emit`](crate::node::Emit), even in a run without observers, effects that start or
    /// end, and calls of [`TaskInfo::heartbeat`](crate::node::TaskInfo::heartbeat).
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.set(|policy| policy.idle_timeout = Some(timeout))
    }

    /// Reuses an earlier result instead of running the node. Results are kept in memory for the compiled graph,
    /// unless `graph.cache(..)` sets a store.
    ///
    /// Events of the run mark a reused result. Errors of the node and results of its error handler are not kept. If
    /// the cache cannot be read or written, the node runs as without one.
    pub fn cache(self, cache: Cache<S>) -> Self {
        let cache = cache.into_policy(&self.graph.schema);
        self.set(|policy| policy.cache = Some(cache))
    }

    /// Runs the node only when nothing else is left to run, and then once, however many nodes led to it. Of several
    /// waiting deferred nodes, a node that another one leads to runs after that one.
    ///
    /// A node that takes an item of `each` cannot be deferred, because it runs once per item.
    pub fn defer(self) -> Self {
        self.set(|policy| policy.deferred = true)
    }

    /// Stops every run at the barrier before the node runs. There the thread can be inspected and edited;
    /// `thread.resume()` passes the breakpoint.
    pub fn interrupt_before(self) -> Self {
        self.set(|policy| policy.interrupt_before = true)
    }

    /// Stops every run at the barrier after the node has run, unless the run ends there. `thread.resume()` passes
    /// the breakpoint.
    pub fn interrupt_after(self) -> Self {
        self.set(|policy| policy.interrupt_after = true)
    }

    /// Sets the policy for the node's effects whose outcome is unknown after a crash.
    pub fn on_unknown(self, on_unknown: OnUnknown) -> Self {
        self.set(|policy| policy.on_unknown = on_unknown)
    }

    /// Sets the policy for recorded effects that no longer fit the node's code.
    pub fn on_mismatch(self, on_mismatch: OnMismatch) -> Self {
        self.set(|policy| policy.on_mismatch = on_mismatch)
    }
}

impl<S: State, C, In, Out> fmt::Debug for PolicyOf<'_, S, C, In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicyOf({})", self.node)
    }
}
