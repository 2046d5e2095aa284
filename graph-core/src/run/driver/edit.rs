//! Edits, which store an update as a checkpoint on top of another one.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use crate::checkpoint::{
    At, Carried, Carrier, Cause, Checkpoint, CheckpointerExt, Commit, Committed, Frontier, IDEMPOTENCY_KEY,
    Loaded, NextTask, Onto, Recorded,
};
use crate::engine::barrier::{self, Overwrites};
use crate::graph::Program;
use crate::id::{CheckpointId, NodeName, RunId, ThreadId};
use crate::run::runtime::field_map::{FieldMap, state_of};
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::{Change, CodecError, ErasedUpdate, Indexes, Json, LoggedWrite, caught};

pub(crate) async fn edit(
    runtime: &Runtime,
    thread: &ThreadId,
    update: Box<dyn ErasedUpdate>,
) -> Result<CheckpointId, ThreadError> {
    let loaded = head(runtime, thread).await?;
    let id = CheckpointId(runtime.ambient.id());
    let fields = FieldMap::new(&loaded.schema, &runtime.program.schema);
    let own = Own { program: &runtime.program, fields: &fields };
    let carried = Carrier::new(thread, &loaded, &own).all(id);
    put_on_top(runtime, thread, &loaded, id, Some(update), carried, BTreeMap::new()).await
}

/// Drops the next tasks.
pub(crate) async fn discard(runtime: &Runtime, thread: &ThreadId) -> Result<CheckpointId, ThreadError> {
    let mut loaded = head(runtime, thread).await?;
    if loaded.checkpoint.frontier.nodes().any(NodeName::is_start) {
        // An input that waits is dropped too, because its request has not begun.
        loaded.checkpoint.metadata.remove(IDEMPOTENCY_KEY);
    }
    let kept = std::mem::take(&mut loaded.checkpoint.frontier.kept);
    loaded.checkpoint.frontier = Frontier { kept, ..Frontier::default() };
    let id = CheckpointId(runtime.ambient.id());
    put_on_top(runtime, thread, &loaded, id, None, Carried::default(), BTreeMap::new()).await
}

/// The next tasks of a branch, and what they have done.
pub(crate) enum BranchWork<'l> {
    /// The next tasks begin again.
    Begins,
    /// The next tasks keep the work that was read with the checkpoint.
    Keeps(&'l Loaded),
    /// Nothing is next.
    Dropped,
}

/// Makes a copy of a checkpoint the head of its thread. `metadata` is added to that of the checkpoint.
pub(crate) async fn branch(
    runtime: &Runtime,
    thread: &ThreadId,
    original: &Checkpoint,
    work: BranchWork<'_>,
    metadata: BTreeMap<String, Json>,
) -> Result<CheckpointId, ThreadError> {
    let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
    let head = saver.history(thread, At::Head, 1).await?;
    let head = head.first().ok_or_else(|| ThreadError::NeverRan(thread.clone()))?;
    let mut copy = original.branched(CheckpointId(runtime.ambient.id()), thread)?;
    copy.metadata.extend(metadata);
    let mut carried = Carried::default();
    match work {
        BranchWork::Begins => {}
        BranchWork::Keeps(loaded) => {
            let fields = FieldMap::new(&loaded.schema, &runtime.program.schema);
            let own = Own { program: &runtime.program, fields: &fields };
            let mut carrier = Carrier::new(thread, loaded, &own);
            for next in &copy.frontier.tasks {
                carrier.carry(next, next.id(copy.id, copy.step));
            }
            carried = carrier.carried;
        }
        BranchWork::Dropped => {
            copy.frontier = Frontier::default();
            copy.metadata.remove(IDEMPOTENCY_KEY);
        }
    }
    store(runtime, thread, head.id, None, copy, carried).await
}

/// Stores an update on top of a thread's head. The tasks of `nodes` are next, beside those that are.
pub(crate) async fn go_to(
    runtime: &Runtime,
    thread: &ThreadId,
    update: Option<Box<dyn ErasedUpdate>>,
    nodes: Vec<(NodeName, Option<Json>)>,
    metadata: BTreeMap<String, Json>,
) -> Result<CheckpointId, ThreadError> {
    let mut loaded = head(runtime, thread).await?;
    let topology = &runtime.program.topology;
    for (node, _) in &nodes {
        if topology.find(node).is_none() || node.is_start() || node.is_end() {
            return Err(ThreadError::no_such_node(topology, node));
        }
    }
    let id = CheckpointId(runtime.ambient.id());
    let fields = FieldMap::new(&loaded.schema, &runtime.program.schema);
    let own = Own { program: &runtime.program, fields: &fields };
    let carried = Carrier::new(thread, &loaded, &own).all(id);
    let tasks = &mut loaded.checkpoint.frontier.tasks;
    let is_next = |tasks: &[NextTask], node: &NodeName| tasks.iter().any(|task| task.node == *node);
    for (index, (node, input)) in nodes.into_iter().enumerate() {
        match input {
            None if is_next(tasks, &node) => {}
            None => {
                tasks.push(NextTask { node, cause: Cause::Tasks([0].into_iter().collect()), input: None })
            }
            input => {
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                tasks.push(NextTask { node, cause: Cause::Each { by: 0, index }, input });
            }
        }
    }
    put_on_top(runtime, thread, &loaded, id, update, carried, metadata).await
}

async fn head(runtime: &Runtime, thread: &ThreadId) -> Result<Loaded, ThreadError> {
    let loaded = runtime.registered(runtime.load(thread, At::Head)).await?;
    loaded.ok_or_else(|| ThreadError::NeverRan(thread.clone()))
}

/// Stores an update on top of a thread's head, and keeps the next tasks.
pub(crate) async fn put_on_top(
    runtime: &Runtime,
    thread: &ThreadId,
    loaded: &Loaded,
    id: CheckpointId,
    update: Option<Box<dyn ErasedUpdate>>,
    carried: Carried,
    metadata: BTreeMap<String, Json>,
) -> Result<CheckpointId, ThreadError> {
    let fields = FieldMap::new(&loaded.schema, &runtime.program.schema);
    let codec = |reason| ThreadError::Encode { what: "the edit".into(), reason };
    let writes = match &update {
        Some(update) => update.encode().map_err(codec)?,
        None => Vec::new(),
    };
    let old = &loaded.checkpoint;
    let changes = changes(runtime, loaded, update, &writes)?;
    let mut checkpoint = Checkpoint {
        schema: runtime.program.schema_fingerprint,
        topology: runtime.program.description.topology_fingerprint,
        frontier: frontier(runtime, loaded, &fields)?,
        ..old.edited(id, RunId(runtime.ambient.id()), writes, changes)
    };
    checkpoint.metadata.extend(metadata);
    let recorded = Some(Recorded::of(&loaded.results, &loaded.effects));
    store(runtime, thread, old.id, recorded, checkpoint, carried).await
}

async fn store(
    runtime: &Runtime,
    thread: &ThreadId,
    expected: CheckpointId,
    recorded: Option<Recorded>,
    checkpoint: Checkpoint,
    carried: Carried,
) -> Result<CheckpointId, ThreadError> {
    let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
    let id = checkpoint.id;
    let graph = runtime.program.topology.name().clone();
    let (thread, expected, checkpoint) = (thread.clone(), Some(expected), Arc::new(checkpoint));
    let carried = Some(Box::new(carried));
    let commit = Commit {
        thread: thread.clone(),
        graph,
        expected,
        recorded,
        input: None,
        checkpoint,
        carried,
        emitted: Vec::new(),
        is_last: true,
    };
    match saver.commit(commit).await? {
        Committed::New | Committed::Already => Ok(id),
        Committed::Outrun(_) | Committed::Adopt(_) | Committed::Conflict { .. } => {
            Err(ThreadError::Superseded(thread))
        }
    }
}

fn changes(
    runtime: &Runtime,
    loaded: &Loaded,
    update: Option<Box<dyn ErasedUpdate>>,
    writes: &[LoggedWrite],
) -> Result<Vec<Change>, ThreadError> {
    let (mut state, older) = state_of(&runtime.program, loaded)?;
    let target = Arc::get_mut(&mut state).expect("a freshly decoded state is not shared");
    let overwrites = Overwrites::default();
    let updates = update.into_iter().map(|update| (0, update));
    caught(|| barrier::apply(target, &mut Indexes::default(), updates, &overwrites))
        .map_err(ThreadError::Reducer)?;
    let changes = match older {
        Some(_) => barrier::whole(&*state, &runtime.program.schema),
        None => barrier::changes(&*state, std::iter::once((0, writes)), &overwrites),
    };
    changes.map_err(|reason| ThreadError::Encode { what: "the edit".into(), reason })
}

/// Returns the head's frontier, because the next tasks stay the same. An input that waits for START refers to
/// fields, so it is converted to the program's schema.
fn frontier(runtime: &Runtime, loaded: &Loaded, fields: &FieldMap) -> Result<Frontier, ThreadError> {
    let codec = |reason: CodecError| ThreadError::Encode { what: "the edit".into(), reason };
    let old = &loaded.checkpoint;
    let mut frontier = old.frontier.clone();
    for task in frontier.tasks.iter_mut().filter(|task| task.node.is_start()) {
        if let Some(input) = &mut task.input {
            let writes: Vec<LoggedWrite> = input.decode().map_err(codec)?;
            if !fields.carries(&writes) {
                return Err(ThreadError::other_version(
                    "the input that waits",
                    &runtime.program,
                    old.id,
                    loaded.schema.version,
                ));
            }
            *input = Json::encode(&fields.own_writes(&writes)).map_err(codec)?;
        }
    }
    Ok(frontier)
}

/// The program as the target to which an edit carries work.
pub(crate) struct Own<'p> {
    pub(crate) program: &'p Program,
    pub(crate) fields: &'p FieldMap,
}

impl Onto for Own<'_> {
    /// A task whose result belongs to another version of the state runs again, with its journal.
    fn writes(&self, stored: &[LoggedWrite]) -> Option<Vec<LoggedWrite>> {
        self.fields.carries(stored).then(|| self.fields.own_writes(stored))
    }

    fn runs_subgraph(&self, node: &NodeName) -> bool {
        let node = self.program.topology.find(node);
        node.is_some_and(|node| self.program.node(node).subgraph.is_some())
    }
}

/// The settings of a driver that edits as nodes. Its checkpoint is an update.
pub(crate) struct AsNodes {
    /// The checkpoint whose unfinished tasks stay next, with their finished work.
    pub(crate) onto: Option<Loaded>,
}

impl AsNodes {
    /// Returns the stored work of the tasks that are still next.
    pub(crate) fn carried(&self, program: &Program, thread: &ThreadId, checkpoint: &Checkpoint) -> Carried {
        let Some(loaded) = &self.onto else {
            return Carried::default();
        };
        let fields = FieldMap::new(&loaded.schema, &program.schema);
        let own = Own { program, fields: &fields };
        let mut carrier = Carrier::new(thread, loaded, &own);
        for next in &checkpoint.frontier.tasks {
            let mut before = loaded.checkpoint.frontier.tasks.iter();
            if let Some(old) = before.find(|old| old.is_carried_as(next)) {
                carrier.carry(old, next.id(checkpoint.id, checkpoint.step));
            }
        }
        carrier.carried
    }
}
