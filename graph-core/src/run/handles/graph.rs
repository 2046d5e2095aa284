//! A compiled graph.

use std::boxed::Box;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use alloc::string::String;

use super::request::RunRequest;
use super::thread::Thread;
use crate::checkpoint::{
    AskRecord, Checkpointer, CheckpointerExt, GraphDescription, StoreError, ThreadSummary,
};
use crate::graph::{BuildError, Program, StateGraph};
use crate::id::{NodeName, ThreadId};
use crate::run::driver::cached::ROOT;
use crate::run::driver::recorder::EMITTED_BYTES;
use crate::run::runtime::ambient::Ambient;
use crate::run::runtime::change::OnChange;
use crate::run::runtime::event::Observer;
use crate::run::runtime::lease::Lease;
use crate::run::runtime::outcome::Interrupt;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::{ErasedState, IntoInput, State, StateForm};
use crate::store::{AccessError, Store};

/// A compiled graph over states `S` that needs a context of type `C`. With `C = ()` it is ready to run.
/// [`with_context`](Self::with_context) converts the former into the latter.
///
/// It is cheap to clone: clones share everything.
pub struct Graph<S, C = ()> {
    runtime: Arc<Runtime>,
    types: PhantomData<fn(S, C)>,
}

impl<S: State, C: Send + Sync + 'static> StateGraph<S, C> {
    /// Checks the graph and makes it ready to run.
    ///
    /// # Errors
    /// Returns all problems of the graph.
    pub fn compile(self) -> Result<Graph<S, C>, BuildError> {
        let runtime = Runtime::new(Arc::new(self.build()?));
        Ok(Graph { runtime: Arc::new(runtime), types: PhantomData })
    }
}

impl<S> Graph<S> {
    pub(super) fn of_runtime(runtime: Runtime) -> Self {
        Self { runtime: Arc::new(runtime), types: PhantomData }
    }
}

impl<S, C> Graph<S, C> {
    /// Returns the same graph with handles that use another form of its state.
    pub(super) fn in_form<F>(&self) -> Graph<F, C> {
        Graph { runtime: Arc::clone(&self.runtime), types: PhantomData }
    }

    pub(crate) fn into_runtime(self) -> Arc<Runtime> {
        self.runtime
    }

    pub(crate) fn with(self, change: impl FnOnce(&mut Runtime)) -> Self {
        let mut runtime = self.runtime;
        change(Arc::make_mut(&mut runtime));
        Self { runtime, types: PhantomData }
    }

    /// Stores every superstep in `saver`, so that threads survive restarts, can be resumed, and have a history.
    #[must_use]
    pub fn checkpointer(self, saver: impl Checkpointer) -> Self {
        self.shared_checkpointer(Arc::new(saver))
    }

    /// Works like [`checkpointer`](Self::checkpointer), for a saver that several graphs share.
    #[must_use]
    pub fn shared_checkpointer(self, saver: Arc<dyn Checkpointer>) -> Self {
        self.with(|runtime| runtime.keep_in(saver))
    }

    /// Makes every run hold a [`Lease`] of its thread, so that no second run, in this process or in another one,
    /// works on it at the same time. Needs a checkpointer.
    #[must_use]
    pub fn lease(self, lease: Lease) -> Self {
        self.with(|runtime| runtime.lease = Some(lease))
    }

    /// Returns the checkpointer that keeps the graph's threads; `None` if there is none.
    #[must_use]
    pub fn saver(&self) -> Option<&Arc<dyn Checkpointer>> {
        self.runtime.saver.as_ref()
    }

    /// Stores the results of nodes with a [`Cache`](crate::node::Cache) in `store`, so that other programs and
    /// later ones can use them too. By default they are kept in memory, for the compiled graph. A subgraph without
    /// a cache of its own uses the cache of the surrounding graph.
    #[must_use]
    pub fn cache(self, store: impl Into<Store>) -> Self {
        self.with(|runtime| (runtime.cache, runtime.cache_is_given) = (Some(store.into()), true))
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Gives the nodes a store of values that outlive threads, which they take as an argument of type [`Store`]. A
    /// subgraph without a store of its own uses the store of the surrounding graph.
    ///
    /// The store uses the clock of the graph's [`ambient`](Self::ambient).
    #[must_use]
    pub fn store(self, store: impl Into<Store>) -> Self {
        self.with(|runtime| runtime.store = Some(store.into()))
    }

    /// Returns the store that the graph gives to its nodes; `None` if there is none.
    #[must_use]
    pub fn store_in_use(&self) -> Option<&Store> {
        self.runtime.store.as_ref()
    }

    /// Limits the number of supersteps of a run; the default is 1,000. A run that reaches the limit can be resumed.
    #[must_use]
    pub fn recursion_limit(self, supersteps: u64) -> Self {
        self.with(|runtime| runtime.limits.recursion = supersteps)
    }

    /// Returns the maximum number of supersteps of a run.
    #[must_use]
    pub fn recursion_limit_in_use(&self) -> u64 {
        self.runtime.limits.recursion
    }

    /// Limits the number of a run's tasks that run at the same time; by default all tasks of a superstep do.
    ///
    /// # Panics
    /// Panics if `tasks` is 0, because no task could ever run.
    #[must_use]
    pub fn max_concurrency(self, tasks: usize) -> Self {
        assert!(tasks > 0, "a run needs room for one task");
        self.with(|runtime| runtime.limits.concurrency = tasks)
    }

    /// Returns the maximum number of a run's tasks that run at the same time.
    #[must_use]
    pub fn max_concurrency_in_use(&self) -> usize {
        self.runtime.limits.concurrency
    }

    /// Limits the duration of each superstep. After that time, unfinished tasks are cancelled and the run fails
    /// with [`RunError::StepTimedOut`](crate::run::RunError::StepTimedOut), which names them. Finished tasks are
    /// recorded, and `resume` runs the rest.
    ///
    /// The time counts even while the handle of a streamed run is not asked for events. A node that blocks its
    /// thread cannot be interrupted.
    #[must_use]
    pub fn step_timeout(self, timeout: Duration) -> Self {
        self.with(|runtime| runtime.step_timeout = Some(timeout))
    }

    /// Sets the policy for threads whose latest checkpoint was written with another state or another graph; the
    /// default is [`OnChange::Upgrade`]. For subgraphs, the policy of the surrounding graph applies.
    #[must_use]
    pub fn on_change(self, policy: OnChange) -> Self {
        self.with(|runtime| runtime.on_change = policy)
    }

    /// Adds an observer of every run. Without an observer no event is built.
    #[must_use]
    pub fn observe(self, observer: impl Observer) -> Self {
        self.with(|runtime| runtime.observers.push(Arc::new(observer)))
    }

    /// Stores the events that nodes emit: custom events and parts of messages are stored with the checkpoint of
    /// their superstep, in one transaction, and [`Thread::events`](crate::run::Thread::events) returns them again.
    /// The setting also applies to subgraphs, whatever their own setting. Without a checkpointer it has no effect.
    ///
    /// Only the events of the attempt that finished a task are kept. A task whose attempt failed or paused runs
    /// again and emits its events again, so no kept event is lost or stored twice. Events of a task that finished
    /// before its siblings are stored with its result.
    ///
    /// At most 1 MiB is kept for one superstep, or the limit of [`record_events_up_to`](Self::record_events_up_to).
    /// The oldest events are dropped first, and an [`EmittedDropped`](crate::run::EventKind::EmittedDropped) event
    /// contains their number.
    #[must_use]
    pub fn record_events(self) -> Self {
        self.record_events_up_to(EMITTED_BYTES)
    }

    /// Works like [`record_events`](Self::record_events), with a limit of `bytes` for the events of one superstep.
    #[must_use]
    pub fn record_events_up_to(self, bytes: usize) -> Self {
        self.with(|runtime| runtime.kept_bytes = Some(bytes))
    }

    /// Replaces the clock and the source of ids and random numbers.
    #[must_use]
    pub fn ambient(self, ambient: impl Ambient) -> Self {
        self.with(|runtime| runtime.ambient = Arc::new(ambient))
    }

    /// Returns the graph's name.
    #[must_use]
    pub fn name(&self) -> &NodeName {
        self.runtime.program.topology.name()
    }

    /// Returns the names of the nodes, in the order of their registration.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.runtime.program.topology.nodes().map(|(_, name)| name)
    }

    /// Returns the programs of the graph and of its subgraphs, at all levels.
    pub(crate) fn programs(&self) -> Vec<&Program> {
        self.runtime.programs()
    }

    pub(crate) fn initial(&self) -> &dyn ErasedState {
        &*self.runtime.program.initial
    }

    /// Returns the description of the graph that its store keeps: its state, its nodes and its edges.
    #[must_use]
    pub fn description(&self) -> &GraphDescription {
        &self.runtime.program.description
    }

    /// Returns the graph as a Mermaid flowchart with every case.
    #[must_use]
    pub fn mermaid(&self) -> String {
        self.runtime.program.topology.mermaid()
    }

    /// Returns the graph in Graphviz' DOT language with every case.
    #[must_use]
    pub fn dot(&self) -> String {
        self.runtime.program.topology.dot()
    }

    /// Clears the cached results of this graph's nodes, so that all of them run again.
    ///
    /// # Errors
    /// Returns an error if the cache cannot be read or written.
    pub async fn clear_cache(&self) -> Result<(), ThreadError> {
        self.clear(&[ROOT, self.name().as_str()]).await
    }

    /// Clears the cached results of one node.
    ///
    /// # Errors
    /// Returns an error if the graph has no such node, or the cache cannot be read or written.
    pub async fn clear_cache_of(&self, node: impl Into<NodeName>) -> Result<(), ThreadError> {
        let node = node.into();
        if self.nodes().all(|known| *known != node) {
            return Err(ThreadError::no_such_node(&self.runtime().program.topology, &node));
        }
        self.clear(&[ROOT, self.name().as_str(), node.as_str()]).await
    }

    async fn clear(&self, namespace: &[&str]) -> Result<(), ThreadError> {
        match &self.runtime().cache {
            Some(cache) => {
                clear(cache, namespace).await.map_err(|error| StoreError::Io(Box::new(error)).into())
            }
            None => Ok(()),
        }
    }
}

impl<S, C: Send + Sync + 'static> Graph<S, C> {
    /// Gives the nodes their context, and returns a graph that can run.
    ///
    /// The type changes: `compile` returns a `Graph<S, C>`, which cannot run while its context is missing, and this
    /// method returns a `Graph<S>`. So the type of a graph that is ready to run is `Graph<S>`, whatever its nodes
    /// take. A graph whose nodes take no context is a `Graph<S>` from the start.
    #[must_use]
    pub fn with_context(self, context: C) -> Graph<S> {
        let ready = self.with(|runtime| runtime.context = Arc::new(context));
        Graph { runtime: ready.runtime, types: PhantomData }
    }
}

impl<S: StateForm> Graph<S> {
    /// Returns the thread with this id: a sequence of runs that share one state. The thread need not exist yet.
    #[must_use]
    pub fn thread(&self, id: impl Into<ThreadId>) -> Thread<S> {
        Thread::new(Arc::clone(&self.runtime), id.into())
    }

    /// Runs the graph once, on a new thread.
    pub fn run(&self, input: impl IntoInput<S>) -> RunRequest<S> {
        let id = std::format!("{}", self.runtime.ambient.id());
        self.thread(id).run(input)
    }

    /// Returns all threads in the graph's store, by name, with their next tasks and open questions.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer, or the checkpointer fails.
    pub async fn threads(&self) -> Result<Vec<ThreadSummary>, ThreadError> {
        let saver = self.runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let mut threads = saver.threads().await?;
        threads.retain(|thread| thread.graph == self.name().as_str());
        Ok(threads)
    }

    /// Returns the threads with unfinished work.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer, or the checkpointer fails.
    pub async fn unfinished(&self) -> Result<Vec<ThreadSummary>, ThreadError> {
        let saver = self.runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        Ok(saver.unfinished(self.name()).await?)
    }

    /// Returns the open questions of all threads, each with the schemas of its question and its answers. The cost
    /// depends on the number of questions, not on the number of threads.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer, or the checkpointer fails.
    pub async fn interrupts(&self) -> Result<Vec<(ThreadId, Interrupt)>, ThreadError> {
        let saver = self.runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        Ok(self.asked(saver.open_asks(self.name()).await?))
    }

    /// Applies deadlines: answers the open questions of all threads whose deadline has passed with their default
    /// answers, and returns these questions with their threads. The answer is the default of a question's
    /// [`deadline`](Interrupt::deadline). Each question is returned once, even if several programs call this at the
    /// same time. The threads can then be resumed:
    ///
    /// ```text
    /// for (thread, _) in graph.tick().await? {
    ///     graph.thread(thread).resume().await?;
    /// }
    /// ```
    ///
    /// `resume` and `answer` do the same for their own thread first, so a late answer fails with `AlreadyAnswered`
    /// even if no program calls this. An earlier answer stays.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer, or the checkpointer fails.
    pub async fn tick(&self) -> Result<Vec<(ThreadId, Interrupt)>, ThreadError> {
        Ok(self.asked(self.runtime.expire(None).await?))
    }

    fn asked(&self, asks: Vec<(ThreadId, AskRecord)>) -> Vec<(ThreadId, Interrupt)> {
        let program = &self.runtime.program;
        asks.into_iter().map(|(thread, ask)| (thread, program.interrupt(&ask))).collect()
    }
}

impl<S, C> Clone for Graph<S, C> {
    fn clone(&self) -> Self {
        Self { runtime: Arc::clone(&self.runtime), types: PhantomData }
    }
}

impl<S, C> fmt::Debug for Graph<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("name", self.name()).finish_non_exhaustive()
    }
}

async fn clear(cache: &Store, namespace: &[&str]) -> Result<(), AccessError> {
    for entry in cache.list(namespace).await? {
        let namespace: Vec<&str> = entry.namespace.names().iter().map(String::as_str).collect();
        cache.delete(&namespace, &entry.key).await?;
    }
    Ok(())
}
