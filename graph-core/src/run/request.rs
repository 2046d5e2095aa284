//! A run about to happen, and the handle of one that is watched.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::string::String;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use std::vec::Vec;

use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::begin::carry_out;
use super::breakpoints::Wanted;
use super::driver::Ended;
use super::error::RunError;
use super::event::{Observer, RunEvent};
use super::graph::Runtime;
use super::outcome::Run;
use crate::engine::Limits;
use crate::graph::SelectNodes;
use crate::id::{InterruptId, ThreadId};
use crate::state::{CodecError, ErasedState, ErasedUpdate, Json, State};

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

/// A run under way.
type Running<S> = Pin<Box<dyn Future<Output = Result<Run<S>, RunError>> + Send>>;

/// What is to be done, without types.
pub(super) struct Order {
    pub(super) verb: Verb,
    pub(super) thread: ThreadId,
    pub(super) limits: Limits,
    pub(super) stops: Stops,
    pub(super) breakpoints: Wanted,
    pub(super) observers: Vec<Arc<dyn Observer>>,
    pub(super) metadata: BTreeMap<String, Json>,
}

/// How the caller may stop a run.
#[derive(Clone, Default)]
pub(super) struct Stops {
    /// Now.
    pub(super) cancel: Option<CancellationToken>,
    /// At the next barrier.
    pub(super) drain: Option<CancellationToken>,
    /// When a superstep takes longer than this.
    pub(super) step_timeout: Option<Duration>,
}

/// The verbs of a run.
pub(super) enum Verb {
    /// A new input; `whole` when it is a whole state, for a new thread only.
    Input { update: Box<dyn ErasedUpdate>, whole: bool },
    /// The unfinished work of the head.
    Resume,
    /// The same, with answers.
    Answer(Answers),
}

/// Answers to open questions.
pub(super) enum Answers {
    /// To the only open one.
    Only(Json),
    /// To these.
    ById(Vec<(InterruptId, Json)>),
    /// An answer that has no JSON form.
    Broken(CodecError),
}

impl<S: State> RunRequest<S> {
    pub(super) fn new(runtime: Arc<Runtime>, thread: ThreadId, verb: Verb) -> Self {
        let limits = runtime.limits;
        let stops = Stops { step_timeout: runtime.step_timeout, ..Stops::default() };
        let order = Order {
            verb,
            thread,
            limits,
            stops,
            breakpoints: Wanted::default(),
            observers: Vec::new(),
            metadata: BTreeMap::new(),
        };
        Self { runtime, order, state: PhantomData }
    }

    /// Cancels the run when `token` is cancelled. What is finished by then is kept, and the thread can be
    /// resumed; no effect of the run starts after it has returned.
    pub fn cancel_on(mut self, token: CancellationToken) -> Self {
        self.order.stops.cancel = Some(token);
        self
    }

    /// Stops the run at its next barrier when `token` is cancelled: the running superstep is finished and
    /// stored, and the thread can be resumed.
    pub fn drain_on(mut self, token: CancellationToken) -> Self {
        self.order.stops.drain = Some(token);
        self
    }

    /// Gives each superstep of this run so much time, whatever the graph says. See
    /// [`Graph::step_timeout`](super::Graph::step_timeout).
    pub fn step_timeout(mut self, timeout: Duration) -> Self {
        self.order.stops.step_timeout = Some(timeout);
        self
    }

    /// Stops the run before these nodes run, at the barrier where they are next; beside the nodes whose policy
    /// says so. `thread.resume()` passes the breakpoint, from any process.
    pub fn interrupt_before(mut self, nodes: impl SelectNodes) -> Self {
        nodes.select(&mut self.order.breakpoints.before);
        self
    }

    /// Stops the run at the barrier after these nodes ran, unless nothing is next there; beside the nodes whose
    /// policy says so. `thread.resume()` passes the breakpoint, from any process.
    pub fn interrupt_after(mut self, nodes: impl SelectNodes) -> Self {
        nodes.select(&mut self.order.breakpoints.after);
        self
    }

    /// Lets this run take at most so many supersteps.
    pub fn recursion_limit(mut self, supersteps: u64) -> Self {
        self.order.limits.recursion = supersteps;
        self
    }

    /// Lets `observer` watch this run.
    pub fn observe(mut self, observer: impl Observer) -> Self {
        self.order.observers.push(Arc::new(observer));
        self
    }

    /// Adds an entry to the metadata of every checkpoint that this run writes. A value that has no JSON form
    /// is kept as its error text.
    pub fn metadata<T: Serialize + ?Sized>(mut self, name: impl Into<String>, value: &T) -> Self {
        let value = Json::encode(value).unwrap_or_else(|error| {
            Json::encode(&std::format!("cannot be encoded: {error}")).expect("a text has a JSON form")
        });
        self.order.metadata.insert(name.into(), value);
        self
    }

    /// Starts the run and hands out its events. The handle drives the run: nothing happens between two calls
    /// of [`next`](RunStream::next) but what tasks in flight do, nothing is lost, and dropping the handle
    /// cancels the run at a resumable point.
    pub fn stream(mut self) -> RunStream<S> {
        let (sender, events) = mpsc::unbounded_channel();
        self.order.observers.push(Arc::new(move |event: &RunEvent| {
            // Once the handle is gone nobody misses the event.
            drop(sender.send(event.clone()));
        }));
        RunStream { events, run: Some(self.into_future()), ended: None }
    }
}

impl<S: State> IntoFuture for RunRequest<S> {
    type Output = Result<Run<S>, RunError>;
    type IntoFuture = Running<S>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { runtime, order, .. } = self;
        let thread = order.thread.clone();
        Box::pin(async move {
            let Ended { run, checkpoint, step, status, state, .. } = carry_out(runtime, order).await?;
            Ok(Run { thread, run, checkpoint, step, status, state: typed(state) })
        })
    }
}

/// Takes the state out of the driver's hands, without a copy where nobody else holds it.
pub(super) fn typed<S: State>(state: Arc<dyn ErasedState>) -> S {
    let state: Arc<dyn std::any::Any + Send + Sync> = state;
    Arc::unwrap_or_clone(state.downcast::<S>().expect("the driver owns the state of this graph"))
}

impl<S> fmt::Debug for RunRequest<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRequest").field("thread", &self.order.thread).finish_non_exhaustive()
    }
}

/// A run that is watched: a lossless log of its events, and its end.
#[must_use = "a run goes on while its handle is asked for events, and is cancelled when that is dropped"]
pub struct RunStream<S> {
    events: mpsc::UnboundedReceiver<RunEvent>,
    run: Option<Running<S>>,
    ended: Option<Result<Run<S>, RunError>>,
}

impl<S: State> RunStream<S> {
    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<RunEvent> {
        poll_fn(|context| {
            // Events first: the run waits until what it has done is taken in.
            if let Ok(event) = self.events.try_recv() {
                return Poll::Ready(Some(event));
            }
            if let Some(run) = &mut self.run
                && let Poll::Ready(ended) = run.as_mut().poll(context)
            {
                self.ended = Some(ended);
                self.run = None;
            }
            match self.run {
                Some(_) => self.events.poll_recv(context),
                // A node may have kept its `Emit`, and with it the log: that the run has ended is the end.
                None => Poll::Ready(self.events.try_recv().ok()),
            }
        })
        .await
    }

    /// Runs to the end, dropping the events that are left, and says how it ended.
    ///
    /// # Errors
    /// See [`RunError`].
    pub async fn finish(mut self) -> Result<Run<S>, RunError> {
        while self.next().await.is_some() {}
        self.ended.take().expect("the log of a run ends after the run")
    }
}

impl<S> fmt::Debug for RunStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunStream").field("ended", &self.ended.is_some()).finish_non_exhaustive()
    }
}
