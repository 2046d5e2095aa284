//! The current state of a thread: the state with the writes of finished tasks, and the progress of each task.

use std::collections::BTreeSet;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use alloc::string::ToString;

use crate::checkpoint::{FailureRecord, Loaded, NextTask, RouteRecord, TaskResult};
use crate::engine::barrier::{self, Overwrites};
use crate::graph::Program;
use crate::id::{CheckpointId, NodeName, TaskId};
use crate::run::runtime::change::Changed;
use crate::run::runtime::field_map::{FieldMap, state_of};
use crate::run::runtime::outcome::Interrupt;
use crate::run::runtime::redact;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::{ErasedState, FieldId, Indexes, Json, Lifetime, LoggedWrite, StateForm, caught};

/// The current state of a thread.
///
/// In an unfinished superstep, the writes of finished tasks are included and their nodes are no longer next. At the
/// checkpoint itself ([`Past`](crate::run::Past)), their writes are not included and their nodes are next.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadState<S> {
    /// The latest checkpoint.
    pub checkpoint: CheckpointId,
    /// Its step.
    pub step: i64,
    /// The state, with the results of finished tasks applied.
    pub values: S,
    /// The nodes whose tasks are not finished, in merge order.
    pub next: Vec<NodeName>,
    /// The differences of the program that wrote the checkpoint; `None` if this program wrote it.
    pub changed: Option<Changed>,
    /// All tasks of the next superstep, in merge order.
    pub tasks: Vec<TaskState>,
}

/// The progress of a task of an unfinished superstep.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskState {
    /// The task.
    pub id: TaskId,
    /// Its node.
    pub node: NodeName,
    /// The item of `each`, or the input of a run.
    pub input: Option<Json>,
    /// Its writes and decision, once it has finished.
    pub result: Option<TaskOutput>,
    /// The failure of its last run, if it has not finished.
    pub failure: Option<FailureRecord>,
    /// Its open questions.
    pub interrupts: Vec<Interrupt>,
}

/// The writes and the decision of a finished task, which the barrier merges.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskOutput {
    /// Its writes.
    pub writes: Vec<LoggedWrite>,
    /// Its decision.
    pub route: Option<RouteRecord>,
}

impl<S> ThreadState<S> {
    /// Returns the open questions of all tasks.
    pub fn interrupts(&self) -> impl Iterator<Item = &Interrupt> {
        self.tasks.iter().flat_map(|task| &task.interrupts)
    }

    /// Returns `true` if nothing is next.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.next.is_empty()
    }
}

impl TaskState {
    /// Returns `true` if the task has finished; its superstep has not.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.result.is_some()
    }
}

/// Returns the progress of the tasks that are next at a checkpoint.
pub(crate) fn tasks_of(program: &Program, loaded: &Loaded) -> Vec<TaskState> {
    let fields = FieldMap::new(&loaded.schema, &program.schema);
    let next = loaded.checkpoint.frontier.tasks.iter().filter(|next| !next.node.is_end());
    let state = |next: &NextTask| {
        let id = next.id(loaded.checkpoint.id, loaded.checkpoint.step);
        let result = loaded.results.iter().find(|result| result.task == id && result.is_finished());
        // A result of another version of the state does not count, so its task runs again.
        let result = result.filter(|result| fields.carries(&result.writes));
        let failure = loaded.failures.iter().find(|failure| failure.task == id);
        TaskState {
            id,
            node: next.node.clone(),
            input: next.input.clone(),
            result: result.map(|TaskResult { writes, route, .. }| TaskOutput {
                writes: writes.clone(),
                route: route.clone(),
            }),
            failure: failure.filter(|_| result.is_none()).cloned(),
            interrupts: program.open_questions(loaded.asks.iter().filter(|ask| ask.task == id)),
        }
    };
    next.map(state).collect()
}

pub(crate) fn state<S: StateForm>(runtime: &Runtime, loaded: &Loaded) -> Result<ThreadState<S>, ThreadError> {
    let program = &runtime.program;
    let tasks = tasks_of(program, loaded);
    let values = applied(program, loaded, &tasks)?;
    Ok(ThreadState {
        checkpoint: loaded.checkpoint.id,
        step: loaded.checkpoint.step,
        changed: Changed::since(&loaded.checkpoint, program),
        values: S::owned(S::read(values, &program.schema)),
        next: tasks.iter().filter(|task| !task.is_finished()).map(|task| task.node.clone()).collect(),
        tasks,
    })
}

/// Returns the state of a checkpoint with the writes of finished tasks.
fn applied(
    program: &Program,
    loaded: &Loaded,
    tasks: &[TaskState],
) -> Result<Arc<dyn ErasedState>, ThreadError> {
    let (mut values, _) = state_of(program, loaded)?;
    apply(program, loaded, tasks, &mut values)?;
    Ok(values)
}

/// Returns the values of the fields that finished tasks wrote, with their writes, for a reader without access to
/// secrets.
pub(crate) fn written(program: &Program, loaded: &Loaded) -> Result<Vec<(String, Json)>, ThreadError> {
    let tasks = tasks_of(program, loaded);
    let fields = FieldMap::new(&loaded.schema, &program.schema);
    let results = tasks.iter().filter_map(|task| task.result.as_ref());
    let written: BTreeSet<FieldId> =
        results.flat_map(|result| fields.own_writes(&result.writes)).map(|write| write.field).collect();
    if written.is_empty() {
        return Ok(Vec::new());
    }
    let values = applied(program, loaded, &tasks)?;
    let stored = written.into_iter().filter(|id| program.schema.field(*id).lifetime == Lifetime::Stored);
    let shown = stored.map(|id| {
        let name = program.schema.field(id).name.clone();
        let value = values.encode_field(id).map_err(|reason| ThreadError::Decode {
            checkpoint: loaded.checkpoint.id,
            field: name.clone(),
            reason: redact::reason(reason, [id], &program.schema),
        })?;
        Ok((name, redact::value(&value, id, &program.schema)))
    });
    shown.collect()
}

/// Applies the writes of finished tasks, as their barrier will.
fn apply(
    program: &Program,
    loaded: &Loaded,
    tasks: &[TaskState],
    values: &mut Arc<dyn ErasedState>,
) -> Result<(), ThreadError> {
    let fields = FieldMap::new(&loaded.schema, &program.schema);
    let mut updates = Vec::new();
    for (position, task) in (0u32..).zip(tasks) {
        let Some(result) = &task.result else { continue };
        let writes = fields.own_writes(&result.writes);
        let update = program.initial.decode_update(&writes).map_err(|reason| ThreadError::Decode {
            checkpoint: loaded.checkpoint.id,
            field: std::format!("the result of node {}", task.node),
            reason: redact::reason(reason, writes.iter().map(|write| write.field), &program.schema),
        })?;
        updates.push((position, update));
    }
    let shapes = updates.iter().map(|(position, update)| (*position, &**update));
    let overwrites = Overwrites::find(shapes, &program.schema).map_err(|conflict| {
        let node = |position: u32| tasks[position as usize].node.as_str();
        ThreadError::Unmergeable(std::format!(
            "nodes {:?} and {:?} both write field {:?}",
            node(conflict.first),
            node(conflict.second),
            program.schema.field(conflict.field).name
        ))
    })?;
    let values = Arc::get_mut(values).expect("a freshly decoded state is not shared");
    caught(|| barrier::apply(values, &mut Indexes::default(), updates.into_iter(), &overwrites))
        .map_err(|panic| ThreadError::Unmergeable(panic.to_string()))
}
