//! Editing: an update on top of a checkpoint, as a checkpoint of its own.

use std::boxed::Box;
use std::sync::Arc;

use super::begin::state_of;
use super::commit::whole;
use super::error::ThreadError;
use super::graph::Runtime;
use crate::checkpoint::{At, Checkpoint, Commit, Committed, Source, TaskRecord};
use crate::engine::barrier::{self, Overwrites};
use crate::id::{CheckpointId, RunId, TaskId, ThreadId};
use crate::state::ErasedUpdate;

/// The node name under which an edit's writes are recorded.
const EDIT: &str = "__edit__";

pub(super) async fn edit(
    runtime: &Runtime,
    thread: &ThreadId,
    update: Box<dyn ErasedUpdate>,
) -> Result<CheckpointId, ThreadError> {
    let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
    runtime.register().await?;
    let loaded = saver
        .load(thread, At::Head)
        .await?
        .ok_or_else(|| ThreadError::NeverRan(thread.clone()))?;
    let codec = |reason| ThreadError::Encode {
        what: "the edit".into(),
        reason,
    };
    let (mut state, rewrite) = state_of(&runtime.program, &loaded)?;
    let writes = update.encode().map_err(codec)?;
    let target = Arc::get_mut(&mut state).expect("a freshly decoded state is not shared");
    let overwrites = Overwrites::default();
    barrier::apply(target, std::iter::once((0, update)), &overwrites);
    let changes = if rewrite {
        whole(&*state, &runtime.program.schema).map_err(codec)?
    } else {
        barrier::changes(&*state, std::iter::once((0, writes.as_slice())), &overwrites).map_err(codec)?
    };
    let old = loaded.checkpoint;
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
            targets: std::vec::Vec::new()
        }],
        frontier: old.frontier.clone(),
        metadata: std::collections::BTreeMap::new(),
    };
    let graph = runtime.program.topology.name().clone();
    let commit = Commit {
        thread: thread.clone(),
        graph,
        expected: Some(old.id),
        checkpoint,
    };
    match saver.commit(commit).await? {
        Committed::New | Committed::Already => {}
        Committed::Adopt(_) | Committed::Conflict { .. } => {
            return Err(ThreadError::Superseded(thread.clone()));
        }
    }
    // Finished siblings stay finished: their results move to the ids that their tasks have on the edit.
    for next in &old.frontier.tasks {
        let task = |base, step| TaskId::derive(base, "", step, &next.node, next.cause.each());
        if let Some(result) = loaded
            .results
            .iter()
            .find(|result| result.task == task(old.id, old.step + 1))
        {
            let mut result = result.clone();
            result.task = task(id, old.step + 2);
            saver.record(thread, id, result).await?;
        }
    }
    saver.flush(thread).await?;
    Ok(id)
}
