//! The runtime: everything that the runs of a graph share.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use alloc::string::ToString;

use futures_util::future::try_join_all;
use tokio::sync::OnceCell;

use super::ambient::{Ambient, System};
use super::change::{Changed, OnChange};
use super::error::RunError;
use super::event::Observer;
use super::heads::{Heads, KeptHead};
use super::lease::Lease;
use super::thread_error::ThreadError;
use super::thread_head::ThreadHead;
use crate::checkpoint::{At, Checkpoint, Checkpointer, CheckpointerExt, Load, Loaded, StoreError};
use crate::engine::barrier::{one_step_fields, seeds};
use crate::engine::{Breakpoints, Limits};
use crate::graph::{NodeRef, Program};
use crate::id::{InterruptId, NodeName, TaskId, ThreadId};
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
    /// The heads that its runs have left in memory.
    pub(crate) heads: Arc<Heads>,
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
            heads: Arc::default(),
            registered: Arc::default(),
            program,
        }
    }

    /// Replaces the saver. The graph is not registered with the new one yet.
    pub(crate) fn keep_in(&mut self, saver: Arc<dyn Checkpointer>) {
        self.saver = Some(saver);
        self.heads = Arc::default();
        self.registered = Arc::default();
    }

    /// Registers the graph and its subgraphs with their store, once, while `load` reads from it.
    pub(crate) async fn registered<T>(
        &self,
        load: impl Future<Output = Result<T, ThreadError>>,
    ) -> Result<T, ThreadError> {
        if self.program.lacks_code() {
            return Err(ThreadError::NoCode(self.program.topology.name().clone()));
        }
        let (registered, loaded) = tokio::join!(self.register(), load);
        registered?;
        loaded
    }

    async fn register(&self) -> Result<(), StoreError> {
        let Some(saver) = &self.saver else { return Ok(()) };
        let register = || async {
            let programs = self.programs();
            try_join_all(programs.iter().map(|program| saver.register(&program.description))).await.map(drop)
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
        saver.read(thread, at).await?.map(|loaded| self.own(thread, loaded)).transpose()
    }

    fn own(&self, thread: &ThreadId, loaded: Loaded) -> Result<Loaded, ThreadError> {
        if loaded.graph == *self.program.topology.name() {
            return Ok(loaded);
        }
        Err(ThreadError::Store(StoreError::WrongGraph {
            thread: thread.clone(),
            expected: self.program.topology.name().to_string(),
            found: loaded.graph.to_string(),
        }))
    }

    /// Reads the head of a thread that is about to be continued: without its values, where an earlier run of this graph
    /// has left them in memory.
    pub(crate) async fn load_head(&self, thread: &ThreadId) -> Result<Option<ThreadHead>, ThreadError> {
        let saver = self.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let kept = self.heads.take(thread);
        let known = kept.as_ref().map(|kept| kept.checkpoint.id);
        self.head_of(thread, saver.load(thread, At::Head, known).await?, kept)
    }

    /// Reads the head of a thread for a run of one of its tasks, with the work of this task.
    pub(crate) async fn load_task(
        &self,
        thread: &ThreadId,
        task: TaskId,
    ) -> Result<Option<ThreadHead>, ThreadError> {
        let saver = self.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let kept = self.heads.copy(thread);
        let known = kept.as_ref().map(|kept| kept.checkpoint.id);
        self.head_of(thread, saver.load_task(thread, task, known).await?, kept)
    }

    /// Returns the head that was loaded, or the one in memory if it is unchanged.
    fn head_of(
        &self,
        thread: &ThreadId,
        load: Load,
        kept: Option<KeptHead>,
    ) -> Result<Option<ThreadHead>, ThreadError> {
        match (load, kept) {
            (Load::Missing, _) => Ok(None),
            (Load::Unchanged(work), Some(kept)) => Ok(Some(ThreadHead::kept(kept, work))),
            (Load::Unchanged(_), None) => Err(unknown()),
            (Load::Whole(loaded), _) => self.own(thread, *loaded).map(|loaded| Some(loaded.into())),
        }
    }

    /// Returns `true` if the heads that runs store are left in memory. Secrets leave it with their run, and a thread
    /// that was exported without them and imported in its own place has other values under the same ids.
    pub(crate) fn keeps_heads(&self) -> bool {
        let has_secrets = |program: &&Program| program.schema.fields.iter().any(|field| field.secret);
        self.saver.is_some() && !self.programs().iter().any(has_secrets)
    }

    /// The head of a thread once more, with what was stored on top of it since it was read. Its values are read again
    /// only where the head is another one.
    pub(crate) async fn refreshed(
        &self,
        thread: &ThreadId,
        head: ThreadHead,
    ) -> Result<Option<ThreadHead>, ThreadError> {
        let saver = self.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        match saver.load(thread, At::Head, Some(head.checkpoint.id)).await? {
            Load::Missing => Ok(None),
            Load::Unchanged(work) => Ok(Some(ThreadHead { work, ..head })),
            Load::Whole(loaded) => self.own(thread, *loaded).map(|loaded| Some(loaded.into())),
        }
    }

    /// Stores answers to questions of a thread's head. Returns the head with them.
    pub(crate) async fn answered(
        &self,
        thread: &ThreadId,
        head: ThreadHead,
        answers: Vec<(InterruptId, Json)>,
    ) -> Result<Option<ThreadHead>, ThreadError> {
        let saver = self.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        match saver.answer_all(thread, answers).await? {
            (at, work) if at == head.checkpoint.id => Ok(Some(ThreadHead { work, ..head })),
            _ => Ok(self.load(thread, At::Head).await?.map(ThreadHead::from)),
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

/// The saver's answer to a request that named no checkpoint as known.
fn unknown() -> ThreadError {
    ThreadError::Store(StoreError::Io(
        "the checkpointer reported an unchanged head to a request that named no head".into(),
    ))
}
