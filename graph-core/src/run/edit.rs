//! Editing: an update on top of a checkpoint, as a checkpoint of its own.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use super::begin::state_of;
use super::commit::whole;
use super::error::ThreadError;
use super::field_map::FieldMap;
use super::graph::Runtime;
use super::subgraph::below;
use crate::checkpoint::{
    AskRecord, At, Carried, Checkpoint, Commit, Committed, EffectId, EffectRecord, FailureRecord, Frontier,
    Loaded, NextTask, Source, TaskRecord, TaskResult,
};
use crate::engine::barrier::{self, Overwrites};
use crate::graph::{Program, caught};
use crate::id::{CheckpointId, EDIT_NAME, InterruptId, RunId, TaskId, ThreadId};
use crate::state::{Change, CodecError, ErasedUpdate, Json, LoggedWrite};

pub(super) async fn edit(
    runtime: &Runtime,
    thread: &ThreadId,
    update: Box<dyn ErasedUpdate>,
) -> Result<CheckpointId, ThreadError> {
    let loaded = head(runtime, thread).await?;
    let id = CheckpointId(runtime.ambient.id());
    let fields = FieldMap::new(&loaded.schema, &runtime.program.schema);
    let mut carrier = Carrier::new(&runtime.program, thread, &loaded, &fields);
    for next in &loaded.checkpoint.frontier.tasks {
        carrier.carry(next, next.id(id, loaded.checkpoint.step + 1));
    }
    put_on_top(runtime, thread, &loaded, id, Some(update), carrier.carried).await
}

/// Drops what is next.
pub(super) async fn discard(runtime: &Runtime, thread: &ThreadId) -> Result<CheckpointId, ThreadError> {
    let mut loaded = head(runtime, thread).await?;
    let kept = std::mem::take(&mut loaded.checkpoint.frontier.kept);
    loaded.checkpoint.frontier = Frontier { kept, ..Frontier::default() };
    let id = CheckpointId(runtime.ambient.id());
    put_on_top(runtime, thread, &loaded, id, None, Carried::default()).await
}

/// Makes a copy of a checkpoint the head of its thread.
pub(super) async fn branch(
    runtime: &Runtime,
    thread: &ThreadId,
    original: &Checkpoint,
) -> Result<CheckpointId, ThreadError> {
    let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
    let head = saver.history(thread, At::Head, 1).await?;
    let head = head.first().ok_or_else(|| ThreadError::NeverRan(thread.clone()))?;
    let id = CheckpointId(runtime.ambient.id());
    let copy = Checkpoint { id, source: Source::Fork, ..original.clone() };
    store(runtime, thread, head.id, copy, Carried::default()).await
}

async fn head(runtime: &Runtime, thread: &ThreadId) -> Result<Loaded, ThreadError> {
    runtime.register().await?;
    let loaded = runtime.load(thread, At::Head).await?;
    loaded.ok_or_else(|| ThreadError::NeverRan(thread.clone()))
}

/// Stores an update on top of a thread's head, with what is next there.
pub(super) async fn put_on_top(
    runtime: &Runtime,
    thread: &ThreadId,
    loaded: &Loaded,
    id: CheckpointId,
    update: Option<Box<dyn ErasedUpdate>>,
    carried: Carried,
) -> Result<CheckpointId, ThreadError> {
    let fields = FieldMap::new(&loaded.schema, &runtime.program.schema);
    let codec = |reason| ThreadError::Encode { what: "the edit".into(), reason };
    let writes = match &update {
        Some(update) => update.encode().map_err(codec)?,
        None => Vec::new(),
    };
    let old = &loaded.checkpoint;
    let checkpoint = Checkpoint {
        id,
        parent: Some(old.id),
        run: RunId(runtime.ambient.id()),
        step: old.step + 1,
        source: Source::Update,
        schema: runtime.program.schema_fingerprint,
        topology: runtime.program.description.topology_fingerprint,
        changes: changes(runtime, loaded, update, &writes)?,
        tasks: std::vec![TaskRecord {
            node: EDIT_NAME.into(),
            writes,
            route: None,
            targets: Vec::new(),
            handled: None
        }],
        frontier: frontier(runtime, loaded, &fields)?,
        metadata: std::collections::BTreeMap::new(),
    };
    store(runtime, thread, old.id, checkpoint, carried).await
}

async fn store(
    runtime: &Runtime,
    thread: &ThreadId,
    expected: CheckpointId,
    checkpoint: Checkpoint,
    carried: Carried,
) -> Result<CheckpointId, ThreadError> {
    let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
    let id = checkpoint.id;
    let graph = runtime.program.topology.name().clone();
    let (thread, expected, checkpoint) = (thread.clone(), Some(expected), Arc::new(checkpoint));
    let carried = Some(Box::new(carried));
    let commit = Commit { thread: thread.clone(), graph, expected, checkpoint, carried, emitted: Vec::new() };
    match saver.commit(commit).await? {
        Committed::New | Committed::Already => {}
        Committed::Adopt(_) | Committed::Conflict { .. } => return Err(ThreadError::Superseded(thread)),
    }
    saver.flush(&thread).await?;
    Ok(id)
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
    caught(|| barrier::apply(target, updates, &overwrites)).map_err(ThreadError::Reducer)?;
    let changes = match older {
        Some(_) => whole(&*state, &runtime.program.schema),
        None => barrier::changes(&*state, std::iter::once((0, writes)), &overwrites),
    };
    changes.map_err(|reason| ThreadError::Encode { what: "the edit".into(), reason })
}

/// What was next stays next. An input that waits for START names fields, so it follows the schema.
fn frontier(runtime: &Runtime, loaded: &Loaded, fields: &FieldMap) -> Result<Frontier, ThreadError> {
    let codec = |reason: CodecError| ThreadError::Encode { what: "the edit".into(), reason };
    let mut frontier = loaded.checkpoint.frontier.clone();
    for task in frontier.tasks.iter_mut().filter(|task| task.node.is_start()) {
        if let Some(input) = &mut task.input {
            let writes: Vec<LoggedWrite> = input.decode().map_err(codec)?;
            if !fields.carries(&writes) {
                return Err(ThreadError::other_version("the input that waits", &runtime.program, loaded));
            }
            *input = Json::encode(&fields.own_writes(&writes)).map_err(codec)?;
        }
    }
    Ok(frontier)
}

/// Takes along what a superstep's tasks have done, to the ids that they have on another checkpoint.
pub(super) struct Carrier<'l> {
    program: &'l Program,
    thread: &'l ThreadId,
    loaded: &'l Loaded,
    fields: &'l FieldMap,
    pub(super) carried: Carried,
}

impl<'l> Carrier<'l> {
    pub(super) fn new(
        program: &'l Program,
        thread: &'l ThreadId,
        loaded: &'l Loaded,
        fields: &'l FieldMap,
    ) -> Self {
        Self { program, thread, loaded, fields, carried: Carried::default() }
    }

    /// Takes along what `next` has done, which is the task `after` from now on.
    pub(super) fn carry(&mut self, next: &NextTask, after: TaskId) {
        let Self { program, thread, loaded, fields, carried } = self;
        let before = next.id(loaded.checkpoint.id, loaded.checkpoint.step);
        let results = loaded.results.iter().filter(|result| result.task == before);
        // A task whose result is of another version of the state runs again, with its journal.
        let results = results.filter(|result| fields.carries(&result.writes));
        carried.results.extend(results.map(|result| TaskResult {
            task: after,
            writes: fields.own_writes(&result.writes),
            ..result.clone()
        }));
        let failures = loaded.failures.iter().filter(|failure| failure.task == before);
        carried.failures.extend(failures.map(|failure| FailureRecord { task: after, ..failure.clone() }));
        let asks = loaded.asks.iter().filter(|ask| ask.task == before);
        carried.asks.extend(asks.filter_map(|ask| move_ask(ask, after)));
        let effects = loaded.effects.iter().filter(|effect| effect.id.task == before);
        carried.effects.extend(effects.map(|effect| EffectRecord {
            id: EffectId { task: after, ..effect.id.clone() },
            ..effect.clone()
        }));
        let node = program.topology.find(&next.node);
        if node.is_some_and(|node| program.node(node).subgraph.is_some()) {
            let thread = below::thread(&loaded.effects, thread, before);
            carried.effects.retain(|effect| effect.id != below::link(after));
            carried.effects.push(below::linked(after, &thread));
        }
    }
}

/// The question as another task asks it; `None` where its id says nothing, and it will be asked anew. Which of
/// several with the same key and text it was is in its id only. A question of a subgraph stays what it is.
fn move_ask(ask: &AskRecord, task: TaskId) -> Option<AskRecord> {
    if !ask.path.is_empty() {
        return Some(AskRecord { task, ..ask.clone() });
    }
    let id = |task, occurrence| InterruptId::derive(task, &ask.key, occurrence, ask.question.as_str());
    let occurrence = (0..MOST_ALIKE).find(|occurrence| id(ask.task, *occurrence) == ask.id)?;
    Some(AskRecord { id: id(task, occurrence), task, ..ask.clone() })
}

/// No task asks more often than this under one key.
const MOST_ALIKE: u32 = 4096;
