//! Requests to run a thread.

use std::boxed::Box;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::string::String;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::any_state::AnyState;
use super::run_stream::RunStream;
use crate::checkpoint::{CONFIGURATION, IDEMPOTENCY_KEY};
use crate::graph::SelectNodes;
use crate::id::ThreadId;
use crate::run::driver::begin::carry_out;
use crate::run::driver::order::{Ended, Mode, Order, RequestKey, Stops, Verb};
use crate::run::driver::recorder::EMITTED_BYTES;
use crate::run::runtime::error::RunError;
use crate::run::runtime::event::Observer;
use crate::run::runtime::lease::Lease;
use crate::run::runtime::outcome::Run;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::stream::feed::Feed;
use crate::run::runtime::stream::queue::EventQueue;
use crate::run::runtime::stream::view::{Views, Wants};
use crate::state::{Json, StateForm};

/// A run of a thread, ready to start: await it, or [`stream`](Self::stream) its events.
///
/// ```text
/// thread.run(input).await?                                   // to the end
/// thread.resume().cancel_on(token).await?                    // until it is cancelled
/// let mut run = thread.run(input).stream();                  // watched
/// while let Some(event) = run.next().await { .. }
/// let run = run.finish().await?;
/// ```
#[must_use = "a run starts when it is awaited or streamed"]
pub struct RunRequest<S> {
    runtime: Arc<Runtime>,
    order: Order,
    state: PhantomData<fn() -> S>,
}

/// The future of a running request.
pub(crate) type Running<S> = Pin<Box<dyn Future<Output = Result<Run<S>, RunError>> + Send>>;

impl<S: StateForm> RunRequest<S> {
    pub(crate) fn new(runtime: Arc<Runtime>, thread: ThreadId, verb: Verb) -> Self {
        let order = Order {
            limits: runtime.limits,
            // A run of a single task holds no lease, because the tasks of a superstep may run in several processes
            // at once. The program that distributes them holds the lease.
            lease: runtime.lease.clone().filter(|_| !matches!(verb, Verb::Task(_))),
            stops: Stops { step_timeout: runtime.step_timeout, ..Stops::default() },
            kept_bytes: runtime.kept_bytes,
            mode: if matches!(verb, Verb::Rerun(_)) { Mode::Anew } else { Mode::Live },
            ..Order::new(verb, thread)
        };
        Self { runtime, order, state: PhantomData }
    }

    /// Adds an idempotency key to the request.
    pub(crate) fn once(mut self, key: &str) -> Self {
        self.order.key = Some(RequestKey::new(key));
        self
    }

    /// Cancels the run when `token` is cancelled. Work that has finished by then is kept, and the thread can be
    /// resumed. No effect of the run starts after it has returned.
    pub fn cancel_on(mut self, token: CancellationToken) -> Self {
        self.order.stops.cancel = Some(token);
        self
    }

    /// Makes this run hold a lease of its thread, whatever the graph's setting. See
    /// [`Graph::lease`](crate::run::Graph::lease).
    pub fn lease(mut self, lease: Lease) -> Self {
        self.order.lease = Some(lease);
        self
    }

    /// Stops the run at its next barrier when `token` is cancelled: the running superstep is finished and
    /// stored, and the thread can be resumed.
    pub fn drain_on(mut self, token: CancellationToken) -> Self {
        self.order.stops.drain = Some(token);
        self
    }

    /// Limits the duration of each superstep of this run, whatever the graph's setting. See
    /// [`Graph::step_timeout`](crate::run::Graph::step_timeout).
    pub fn step_timeout(mut self, timeout: Duration) -> Self {
        self.order.stops.step_timeout = Some(timeout);
        self
    }

    /// Stops the run at the barrier before these nodes run, in addition to the nodes with such a policy.
    /// `thread.resume()` passes the breakpoint, from any process.
    pub fn interrupt_before(mut self, nodes: impl SelectNodes) -> Self {
        nodes.select(&mut self.order.breakpoints.before);
        self
    }

    /// Stops the run at the barrier after these nodes have run, unless the run ends there, in addition to the nodes
    /// with such a policy. `thread.resume()` passes the breakpoint, from any process.
    pub fn interrupt_after(mut self, nodes: impl SelectNodes) -> Self {
        nodes.select(&mut self.order.breakpoints.after);
        self
    }

    /// Limits the number of supersteps of this run.
    pub fn recursion_limit(mut self, supersteps: u64) -> Self {
        self.order.limits.recursion = supersteps;
        self
    }

    /// Adds an observer of this run.
    pub fn observe(mut self, observer: impl Observer) -> Self {
        self.order.observers.push(Arc::new(observer));
        self
    }

    /// Sets the configuration of the run, which nodes take as [`Configured<T>`](crate::node::Configured), also those
    /// of subgraphs. It is stored in the entry `config` of the metadata of the run's checkpoints.
    /// Without a configuration, a run that continues the thread has that of the run before it, and one with an input
    /// has the empty object.
    pub fn configure(mut self, configuration: serde_json::Map<String, serde_json::Value>) -> Self {
        self.order.metadata.insert(CONFIGURATION.into(), encoded(&configuration));
        self
    }

    /// Adds an entry to the metadata of every checkpoint that this run writes. A value without a JSON form is
    /// stored as its error text.
    ///
    /// In the JSON document of a checkpoint, `source`, `step`, `run_id` and `writes` belong to the checkpoint. An
    /// entry with one of these names is prefixed, as in `user.source`. The entry `idempotency_key` belongs to
    /// [`run_once`](crate::run::Thread::run_once), so an entry of yours with that name is stored as
    /// `user.idempotency_key`. So does `config`, which belongs to [`configure`](Self::configure).
    pub fn metadata<T: Serialize + ?Sized>(mut self, name: impl Into<String>, value: &T) -> Self {
        let value = encoded(value);
        let name = match name.into() {
            name if name == IDEMPOTENCY_KEY || name == CONFIGURATION => std::format!("user.{name}"),
            name => name,
        };
        self.order.metadata.insert(name, value);
        self
    }

    /// Stores the events that the nodes of this run emit, as
    /// [`Graph::record_events`](crate::run::Graph::record_events) does for all runs of a graph.
    pub fn record_events(mut self) -> Self {
        self.order.kept_bytes.get_or_insert(EMITTED_BYTES);
        self
    }

    /// Also builds the events of these views, for observers and subscribers. Values and updates are only built on
    /// request.
    pub fn include(mut self, views: impl Into<Views>) -> Self {
        self.order.observers.push(Arc::new(Wants(views.into())));
        self
    }

    /// Returns a feed of this run's events, for readers that do not drive the run. The feed holds the latest
    /// `capacity` events.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::run::Received;
    /// # use superstep::state::{State, Update};
    /// # #[derive(State, Clone, Default)]
    /// # struct Essay { draft: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut g = StateGraph::<Essay>::new("essay");
    /// # let write = g.node("write", || async { Essay::update().draft("…") });
    /// # g.edge(START, write);
    /// # g.edge(write, END);
    /// # let essays = g.compile()?;
    /// let mut request = essays.run(Essay::update());
    /// let feed = request.feed(1024);
    /// let run = tokio::spawn(request.into_future());
    ///
    /// let mut events = feed.subscribe_from(0);
    /// while let Some(received) = events.next().await {
    ///     match received {
    ///         Received::Event(event) => println!("{} {:?}", event.seq, event.kind),
    ///         Received::Missed { from, to } => println!("{from} to {to} are gone"),
    ///     }
    /// }
    /// # run.await??.finished()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn feed(&mut self, capacity: usize) -> Feed {
        let (feed, writer) = Feed::new(capacity);
        self.order.observers.push(Arc::new(writer));
        feed
    }

    /// Returns the events of the run, which starts when the first one is requested. The handle drives the run:
    /// between two calls of [`next`](RunStream::next) only tasks in flight continue, no event is lost, and dropping
    /// the handle cancels the run at a resumable point.
    pub fn stream(self) -> RunStream<S> {
        RunStream::new(self)
    }

    /// Returns the same request for a graph without its state type: see [`AnyGraph`](crate::run::AnyGraph).
    pub fn erased(self) -> RunRequest<AnyState> {
        RunRequest { runtime: self.runtime, order: self.order, state: PhantomData }
    }

    /// Starts the run, whose events go into `queue`.
    pub(crate) fn watched(mut self, queue: Arc<EventQueue>) -> Running<S> {
        self.order.queue = Some(queue);
        self.into_future()
    }
}

impl<S: StateForm> IntoFuture for RunRequest<S> {
    type Output = Result<Run<S>, RunError>;
    type IntoFuture = Running<S>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { runtime, order, .. } = self;
        let (thread, schema) = (order.thread.clone(), Arc::clone(&runtime.program.schema));
        let order = Box::new(order);
        Box::pin(async move {
            let Ended { run, checkpoint, step, status, state, .. } = carry_out(runtime, order).await?;
            Ok(Run { thread, run, checkpoint, step, status, state: S::read(state, &schema) })
        })
    }
}

impl<S> fmt::Debug for RunRequest<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRequest").field("thread", &self.order.thread).finish_non_exhaustive()
    }
}

/// Returns the JSON form of a value; for a value without one, its error text.
fn encoded<T: Serialize + ?Sized>(value: &T) -> Json {
    Json::encode(value).unwrap_or_else(|error| {
        Json::encode(&std::format!("cannot be encoded: {error}")).expect("a text has a JSON form")
    })
}
