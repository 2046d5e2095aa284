//! Editing: an update on top of a checkpoint, as a checkpoint of its own.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use super::begin::state_of;
use super::commit::whole;
use super::error::ThreadError;
use super::field_map::FieldMap;
use super::graph::Runtime;
use crate::checkpoint::{
    AskRecord, At, Carried, Checkpoint, Commit, Committed, EffectId, EffectRecord, FailureRecord, Frontier,
    Loaded, Source, TaskRecord, TaskResult,
};
use crate::engine::barrier::{self, Overwrites};
use crate::id::{CheckpointId, InterruptId, RunId, TaskId, ThreadId};
use crate::state::{Change, CodecError, ErasedUpdate, Json, LoggedWrite};

/// The node name under which an edit's writes are recorded.
const EDIT: &str = "__edit__";

pub(super) async fn edit(
    runtime: &Runtime,
    thread: &ThreadId,
    update: Box<dyn ErasedUpdate>,
) -> Result<CheckpointId, ThreadError> {
    let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
    runtime.register().await?;
    let loaded =
        runtime.load(thread, At::Head).await?.ok_or_else(|| ThreadError::NeverRan(thread.clone()))?;
    let fields = FieldMap::new(&loaded.schema, &runtime.program.schema);
    let codec = |reason| ThreadError::Encode { what: "the edit".into(), reason };
    let writes = update.encode().map_err(codec)?;
    let changes = changes(runtime, &loaded, update, &writes)?;
    let old = &loaded.checkpoint;
    let id = CheckpointId(runtime.ambient.id());
    let checkpoint = Checkpoint {
        id,
        parent: Some(old.id),
        run: RunId(runtime.ambient.id()),
        step: old.step + 1,
        source: Source::Update,
        schema: runtime.schema_fingerprint,
        topology: runtime.program.description.topology_fingerprint,
        changes,
        tasks: std::vec![TaskRecord {
            node: EDIT.into(),
            writes,
            route: None,
            targets: Vec::new(),
            handled: None
        }],
        frontier: frontier(&old.frontier, &fields).map_err(codec)?,
        metadata: std::collections::BTreeMap::new(),
    };
    let commit = Commit {
        thread: thread.clone(),
        graph: runtime.program.topology.name().clone(),
        expected: Some(old.id),
        carried: carried(&loaded, id, &fields),
        checkpoint: Arc::new(checkpoint),
    };
    match saver.commit(commit).await? {
        Committed::New | Committed::Already => {}
        Committed::Adopt(_) | Committed::Conflict { .. } => {
            return Err(ThreadError::Superseded(thread.clone()));
        }
    }
    saver.flush(thread).await?;
    Ok(id)
}

fn changes(
    runtime: &Runtime,
    loaded: &Loaded,
    update: Box<dyn ErasedUpdate>,
    writes: &[LoggedWrite],
) -> Result<Vec<Change>, ThreadError> {
    let (mut state, older) = state_of(&runtime.program, loaded)?;
    let target = Arc::get_mut(&mut state).expect("a freshly decoded state is not shared");
    let overwrites = Overwrites::default();
    barrier::apply(target, std::iter::once((0, update)), &overwrites);
    let changes = match older {
        Some(_) => whole(&*state, &runtime.program.schema),
        None => barrier::changes(&*state, std::iter::once((0, writes)), &overwrites),
    };
    changes.map_err(|reason| ThreadError::Encode { what: "the edit".into(), reason })
}

/// What was next stays next. An input that waits for START names fields, so it follows the schema.
fn frontier(old: &Frontier, fields: &FieldMap) -> Result<Frontier, CodecError> {
    let mut frontier = old.clone();
    let starts = |node: &str| node == crate::graph::START_NAME;
    for task in frontier.tasks.iter_mut().filter(|task| starts(task.node.as_str())) {
        if let Some(input) = &mut task.input {
            let writes: Vec<LoggedWrite> = input.decode()?;
            *input = Json::encode(&fields.own_writes(&writes))?;
        }
    }
    Ok(frontier)
}

/// What the superstep's tasks have done stays done: it moves to the ids that the tasks have on the edit.
fn carried(loaded: &Loaded, edit: CheckpointId, fields: &FieldMap) -> Carried {
    let old = &loaded.checkpoint;
    let mut carried = Carried::default();
    for next in &old.frontier.tasks {
        let (before, after) = (next.id(old.id, old.step), next.id(edit, old.step + 1));
        let results = loaded.results.iter().filter(|result| result.task == before);
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
    }
    carried
}

/// The question as another task asks it; `None` where its id says nothing, and it will be asked anew. Which of several with the same key and text it was is in its id only.
fn move_ask(ask: &AskRecord, task: TaskId) -> Option<AskRecord> {
    let id = |task, occurrence| InterruptId::derive(task, &ask.key, occurrence, ask.question.as_str());
    let occurrence = (0..MOST_ALIKE).find(|occurrence| id(ask.task, *occurrence) == ask.id)?;
    Some(AskRecord { id: id(task, occurrence), task, ..ask.clone() })
}

/// No task asks more often than this under one key.
const MOST_ALIKE: u32 = 4096;
