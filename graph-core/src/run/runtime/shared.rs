//! The runtime: everything that the runs of a graph share.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use alloc::string::ToString;

use tokio::sync::OnceCell;

use super::ambient::{Ambient, System};
use super::change::{Changed, OnChange};
use super::error::{RunError, ThreadError};
use super::event::Observer;
use super::lease::Lease;
use crate::checkpoint::{
    At, Carried, Checkpoint, Checkpointer, CheckpointerExt, Loaded, StepRecord, StoreError,
};
use crate::engine::barrier::{one_step_fields, seeds};
use crate::engine::{Breakpoints, Limits};
use crate::graph::{NodeRef, Program};
use crate::id::{NodeName, ThreadId};
use crate::node::Deck;
use crate::state::{Change, FieldId, Json, ReadInput};
use crate::store::{MemoryStore, Store};

/// Everything that the runs of a graph share.
#[derive(Clone)]
pub(crate) struct Runtime {
    pub(crate) program: Arc<Program>,
    pub(crate) context: Arc<dyn Any + Send + Sync>,
    pub(crate) saver: Option<Arc<dyn Checkpointer>>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    pub(crate) ambient: Arc<dyn Ambient>,
    pub(crate) store: Option<Store>,
    /// The store of reused node results; `None` if no node has a cache.
    pub(crate) cache: Option<Store>,
    /// `true` if the user set the cache's store.
    pub(crate) cache_is_given: bool,
    pub(crate) limits: Limits,
    /// The lease that runs acquire before they begin.
    pub(crate) lease: Option<Lease>,
    pub(crate) on_change: OnChange,
    pub(crate) step_timeout: Option<Duration>,
    /// The maximum number of bytes of emitted events kept for a superstep; `None` if none are kept.
    pub(crate) kept_bytes: Option<usize>,
    /// The breakpoints of the nodes' policies.
    pub(crate) breakpoints: Breakpoints,
    pub(crate) one_step_fields: Vec<FieldId>,
    /// The changes in the first checkpoint of a thread, for fields whose initial value is not empty.
    pub(crate) seeds: Vec<Change>,
    /// Reads an input that is given as JSON, if it is not an object of fields.
    pub(crate) read_input: Option<ReadInput>,
    /// The JSON Schemas of inputs and outputs, if they are not those of the state.
    pub(crate) json_schemas: Option<(Json, Json)>,
    /// The recordings that replace the outside world in a test.
    pub(crate) deck: Option<Arc<Deck>>,
    registered: Arc<OnceCell<()>>,
}

impl Runtime {
    /// Creates the runtime of a graph with default settings.
    pub(crate) fn new(program: Arc<Program>) -> Self {
        let caches = program.nodes.iter().any(|node| node.policy.cache.is_some());
        Self {
            context: Arc::new(()),
            saver: None,
            observers: Vec::new(),
            ambient: Arc::new(System),
            store: None,
            cache: caches.then(|| Store::new(MemoryStore::new())),
            cache_is_given: false,
            limits: Limits::default(),
            lease: None,
            on_change: OnChange::default(),
            step_timeout: None,
            kept_bytes: None,
            breakpoints: program.breakpoints(),
            one_step_fields: one_step_fields(&program.schema),
            seeds: seeds(&program.schema, &*program.initial),
            read_input: None,
            json_schemas: None,
            deck: None,
            registered: Arc::default(),
            program,
        }
    }

    /// Replaces the saver. The graph is not registered with the new one yet.
    pub(crate) fn keep_in(&mut self, saver: Arc<dyn Checkpointer>) {
        self.saver = Some(saver);
        self.registered = Arc::default();
    }

    /// Registers the graph and its subgraphs with their store, once.
    pub(crate) async fn register(&self) -> Result<(), StoreError> {
        let Some(saver) = &self.saver else { return Ok(()) };
        let register = || async {
            for program in self.programs() {
                saver.register(&program.description).await?;
            }
            Ok(())
        };
        self.registered.get_or_try_init(register).await.map(drop)
    }

    /// Returns the programs of the graph and of its subgraphs, at all levels.
    pub(crate) fn programs(&self) -> Vec<&Program> {
        let mut programs: Vec<&Program> = std::vec![&self.program];
        let mut next = 0;
        while let Some(program) = programs.get(next).copied() {
            programs.extend(program.nodes.iter().filter_map(|node| node.subgraph.as_deref()));
            next += 1;
        }
        programs
    }

    /// Reads a checkpoint of a thread, which must belong to this graph.
    pub(crate) async fn load(&self, thread: &ThreadId, at: At) -> Result<Option<Loaded>, ThreadError> {
        let saver = self.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let loaded = saver.read(thread, at).await?;
        match &loaded {
            Some(Loaded { graph, .. }) if graph != self.program.topology.name() => {
                Err(ThreadError::Store(StoreError::WrongGraph {
                    thread: thread.clone(),
                    expected: self.program.topology.name().to_string(),
                    found: graph.to_string(),
                }))
            }
            _ => Ok(loaded),
        }
    }

    /// Returns the stored name of a node.
    pub(crate) fn name_of<In, Out>(&self, node: NodeRef<In, Out>) -> Result<NodeName, ThreadError> {
        let topology = &self.program.topology;
        if node.graph != self.program.graph {
            return Err(ThreadError::foreign_handle(topology));
        }
        Ok(topology.node_name(crate::graph::NodeId(node.node)).clone())
    }

    /// Reads the head of a thread again, with work that was stored since it was read. Its values are only read
    /// again if the head has changed.
    pub(crate) async fn refreshed(
        &self,
        thread: &ThreadId,
        loaded: Loaded,
    ) -> Result<Option<Loaded>, ThreadError> {
        let saver = self.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        match saver.steps(thread, At::Head, 1).await?.pop() {
            Some(StepRecord { checkpoint, work, .. }) if checkpoint.id == loaded.checkpoint.id => {
                let Carried { results, failures, asks, effects } = work;
                Ok(Some(Loaded { results, failures, asks, effects, ..loaded }))
            }
            _ => self.load(thread, At::Head).await,
        }
    }

    /// Checks that a run may continue from a checkpoint, with a new input or with unfinished work.
    pub(crate) fn check_change(
        &self,
        thread: &ThreadId,
        checkpoint: &Checkpoint,
        has_input: bool,
    ) -> Result<(), RunError> {
        let free = match self.on_change {
            OnChange::Upgrade => true,
            OnChange::Pin => has_input || checkpoint.frontier.nodes().next().is_none(),
            OnChange::Refuse => false,
        };
        match Changed::since(checkpoint, &self.program).filter(|_| !free) {
            None => Ok(()),
            Some(changed) => Err(RunError::Changed {
                thread: thread.clone(),
                checkpoint: checkpoint.id,
                changed,
                policy: self.on_change,
            }),
        }
    }
}
