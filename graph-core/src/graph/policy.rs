//! The policies of one node, set through the builder.

use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use super::builder::StateGraph;
use crate::node::{Cache, NoInput, OnMismatch, OnUnknown, Policy, Retry};
use crate::state::State;

/// The policies of one node, to be set. It knows what the node takes and decides.
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

    /// Tries again when the node fails.
    ///
    /// Called several times, it gives the node several policies. The first one that covers an error decides
    /// about it. The attempt's number counts all failures, whatever their errors: a policy of three attempts
    /// allows no fourth attempt of the node, even when another policy allowed the ones before.
    pub fn retry(self, retry: Retry) -> Self {
        self.set(|policy| policy.retries.push(retry))
    }

    /// Gives each attempt this long.
    ///
    /// An attempt that takes longer is dropped at its next await and fails; what it wrote is discarded, and
    /// nothing in the node can hold that up.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set(|policy| policy.timeout = Some(timeout))
    }

    /// Gives up an attempt that shows no sign of life for this long.
    ///
    /// Signs of life are events of [`Emit`](crate::node::Emit), whether or not anybody observes the run, effects
    /// that start or end, and [`TaskInfo::heartbeat`](crate::node::TaskInfo::heartbeat).
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.set(|policy| policy.idle_timeout = Some(timeout))
    }

    /// Uses what the node returned again in the place of running it. Where that is kept is said by
    /// `graph.cache(..)`: in memory, for the compiled graph, unless a store is given.
    ///
    /// A result that is used again is marked so in the events of the run. The errors of a node are not kept, and
    /// neither are the results of its error handler. A cache that cannot be read or written is as good as none.
    pub fn cache(self, cache: Cache<S>) -> Self {
        let cache = cache.into_policy(&self.graph.schema);
        self.set(|policy| policy.cache = Some(cache))
    }

    /// Runs the node when nothing else is left to run, and then once, whatever led to it meanwhile. Of several
    /// deferred nodes that wait, one that another leads to runs after that one.
    ///
    /// A node that takes an item of `each` cannot be deferred: it runs once per item.
    pub fn defer(self) -> Self {
        self.set(|policy| policy.deferred = true)
    }

    /// Stops every run before the node runs, at the barrier where it is next. The thread can be looked at and
    /// edited there, and `thread.resume()` passes the breakpoint.
    pub fn interrupt_before(self) -> Self {
        self.set(|policy| policy.interrupt_before = true)
    }

    /// Stops every run at the barrier after the node ran, unless nothing is next there. `thread.resume()` passes
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
