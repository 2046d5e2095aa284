//! Information about the running task, and the events that it emits.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use serde::Serialize;

use super::cell::TaskCell;
use super::function::FromTask;
use super::input::NoInput;
use super::run_cell::CustomSink;
use super::task::Task;
use crate::checkpoint::Checkpointer;
use crate::id::{CheckpointId, NodeName, RunId, TaskId, ThreadId};
use crate::state::{Json, State};

/// Extracts information about the running task.
#[derive(Clone)]
pub struct TaskInfo {
    cell: Arc<TaskCell>,
    attempt: u32,
}

impl TaskInfo {
    /// Returns the node that is running.
    #[must_use]
    pub fn node(&self) -> &NodeName {
        self.cell.node()
    }

    /// Returns the number of the superstep, which its checkpoint will have too.
    #[must_use]
    pub fn step(&self) -> i64 {
        self.cell.facts.step
    }

    /// Returns the number of the attempt, counted from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns `true` if the node's retry policies allow no further attempt, whatever the error. A node can then
    /// use a fallback, and rely on retries in earlier attempts.
    #[must_use]
    pub fn is_last_attempt(&self) -> bool {
        self.attempt >= self.cell.facts.attempts
    }

    /// Returns a name that is unique among the tasks of the thread and the same whenever this run repeats the task,
    /// so that data which the node writes elsewhere can be named after it. It consists of the node and the
    /// superstep, as in `agent.3`. For an item of [`each`](crate::graph::each) it also has the position of the
    /// sending task and the item's index, as in `agent.3#0.4`, and for a task of a subgraph the surrounding tasks,
    /// as in `research.2/agent.3`.
    #[must_use]
    pub fn place(&self) -> String {
        self.cell.task_place()
    }

    /// Returns the number of supersteps that may follow this one before the recursion limit is reached.
    #[must_use]
    pub fn remaining_steps(&self) -> u64 {
        self.cell.facts.remaining_steps
    }

    /// Returns the time of the run's clock since the Unix epoch, for measuring durations. It is not recorded, so a
    /// node's writes must not depend on it, except inside an effect. See [`Effects::now`](super::Effects::now).
    #[must_use]
    pub fn clock(&self) -> Duration {
        self.cell.run.ambient.now()
    }

    /// Returns `true` if the recursion limit allows no further superstep after this one.
    #[must_use]
    pub fn is_last_step(&self) -> bool {
        self.remaining_steps() == 0
    }

    /// Returns the checkpoint on which the superstep is based; `None` without a checkpointer.
    #[must_use]
    pub fn checkpoint(&self) -> Option<CheckpointId> {
        self.cell.facts.base
    }

    /// Returns the store of the run's checkpoints; `None` without a checkpointer. A node that reads the past of its thread
    /// has to do so in an [effect](super::Effects), so that a replay finds the same.
    #[must_use]
    pub fn checkpointer(&self) -> Option<&Arc<dyn Checkpointer>> {
        self.cell.run.saver.as_ref()
    }

    /// Returns an entry of the run's metadata, which was given to the request with `metadata`.
    #[must_use]
    pub fn metadata(&self, name: &str) -> Option<&Json> {
        self.cell.run.metadata.get(name)
    }

    /// Returns the id of the thread.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.cell.run.thread
    }

    /// Returns the id of the run.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.cell.run.run
    }

    /// Returns the task's id: the same in every process and after every resume, so that other systems can use it to
    /// deduplicate. `None` without a checkpointer.
    #[must_use]
    pub fn task_id(&self) -> Option<TaskId> {
        self.cell.task_id()
    }

    /// Signals that the attempt is alive, for a node with an [idle timeout](crate::graph::PolicyOf::idle_timeout).
    /// Without one it has no effect.
    pub fn heartbeat(&self) {
        self.cell.beat(self.attempt);
    }

    /// Returns `true` if the run has ended without this task, or the attempt was abandoned.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        !self.cell.is_current(self.attempt)
    }

    /// Waits until the run has ended without this task, or the attempt was abandoned.
    ///
    /// The node's own future is dropped at that moment. This method is for work that the node has started outside
    /// of it: a spawned task, a child process, or a thread.
    pub async fn cancelled(&self) {
        self.cell.run.revoked.until(|| self.is_cancelled()).await;
    }
}

impl fmt::Debug for TaskInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskInfo({} at step {}, attempt {})", self.cell.node(), self.cell.facts.step, self.attempt)
    }
}

impl<S: State, C> FromTask<S, C> for TaskInfo {
    type Input = NoInput;

    fn from_task(task: &Task<S, C>, _position: usize) -> Self {
        let cell = Arc::clone(task.cell());
        Self { attempt: cell.attempt(), cell }
    }
}

/// Extracts a handle for emitting custom events into the run's event log.
#[derive(Clone)]
pub struct Emit {
    cell: Arc<TaskCell>,
    attempt: u32,
}

impl Emit {
    /// Returns `true` if the run has observers or keeps its events. Otherwise nothing is encoded.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.cell.run.sink.is_some()
    }

    /// Emits a custom event, and counts as a heartbeat of the attempt. A value without a JSON form is emitted as
    /// its error text.
    ///
    /// The call never waits. If the consumer of a streamed run falls behind, the node is suspended at its next
    /// await.
    pub fn emit<T: Serialize + ?Sized>(&self, name: &str, data: &T) {
        if let Some(sink) = self.sink() {
            sink.custom(&self.cell, self.attempt, name, encoded(data));
        }
    }

    /// Emits a part of a message, such as a piece of a model's reply while it is generated. Otherwise it works like
    /// [`emit`](Self::emit).
    pub fn message<T: Serialize + ?Sized>(&self, chunk: &T) {
        if let Some(sink) = self.sink() {
            sink.message(&self.cell, self.attempt, encoded(chunk));
        }
    }

    /// Returns the sink for events, if the attempt is current and the run has observers or keeps its events.
    fn sink(&self) -> Option<&Arc<dyn CustomSink>> {
        self.cell.beat(self.attempt);
        let sink = self.cell.run.sink.as_ref()?;
        self.cell.is_current(self.attempt).then_some(sink)
    }
}

fn encoded<T: Serialize + ?Sized>(data: &T) -> Json {
    Json::encode(data).unwrap_or_else(|error| {
        Json::encode(&alloc::format!("cannot be encoded: {error}")).expect("a text has a JSON form")
    })
}

impl<S: State, C> FromTask<S, C> for Emit {
    type Input = NoInput;

    fn from_task(task: &Task<S, C>, _position: usize) -> Self {
        let cell = Arc::clone(task.cell());
        Self { attempt: cell.attempt(), cell }
    }
}
