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
use crate::id::{CheckpointId, NodeName, RunId, TaskId, ThreadId};
use crate::state::{Json, State};

/// Extracts the task's circumstances.
#[derive(Clone)]
pub struct TaskInfo {
    cell: Arc<TaskCell>,
    attempt: u32,
}

impl TaskInfo {
    /// The node that runs.
    #[must_use]
    pub fn node(&self) -> &NodeName {
        self.cell.node()
    }

    /// The superstep, as its checkpoint will be numbered.
    #[must_use]
    pub fn step(&self) -> i64 {
        self.cell.facts.step
    }

    /// The attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns `true` if the node's retry policies allow no attempt after this one, whatever the error: for a node that
    /// has a fallback for a failed step, and prefers a retry as long as one is allowed.
    #[must_use]
    pub fn is_last_attempt(&self) -> bool {
        self.attempt >= self.cell.facts.attempts
    }

    /// A name that no other task of the thread has, and that the same run has again, so that what a node writes may be named
    /// by it: the node and the superstep, `agent.3`. An item of [`each`](crate::graph::each) also has the position of the task
    /// that sent it and its own, `agent.3#0.4`, and a task of a subgraph those around it, `research.2/agent.3`.
    #[must_use]
    pub fn place(&self) -> String {
        self.cell.task_place()
    }

    /// Returns the number of supersteps that may still follow this one before the recursion limit.
    #[must_use]
    pub fn remaining_steps(&self) -> u64 {
        self.cell.facts.remaining_steps
    }

    /// The time of the run's clock since the Unix epoch: for measuring how long something takes. It is not recorded, so
    /// nothing that a node writes may depend on it, but for what an effect returns. See [`Effects::now`](super::Effects::now).
    #[must_use]
    pub fn clock(&self) -> Duration {
        self.cell.run.ambient.now()
    }

    /// Returns `true` if the recursion limit allows no further superstep after this one.
    #[must_use]
    pub fn is_last_step(&self) -> bool {
        self.remaining_steps() == 0
    }

    /// The checkpoint that the superstep stands on; `None` without a checkpointer.
    #[must_use]
    pub fn checkpoint(&self) -> Option<CheckpointId> {
        self.cell.facts.base
    }

    /// An entry of the run's metadata, as given to the request with `metadata`.
    #[must_use]
    pub fn metadata(&self, name: &str) -> Option<&Json> {
        self.cell.run.metadata.get(name)
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.cell.run.thread
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.cell.run.run
    }

    /// The task's id: the same in every process and after every resume, so that others can deduplicate by it.
    /// `None` without a checkpointer.
    #[must_use]
    pub fn task_id(&self) -> Option<TaskId> {
        self.cell.task_id()
    }

    /// Shows that the attempt is alive, for a node with an
    /// [idle timeout](crate::graph::PolicyOf::idle_timeout). Without one it does nothing.
    pub fn heartbeat(&self) {
        self.cell.beat(self.attempt);
    }

    /// Returns `true` if the run has ended without this task, or the attempt was given up.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        !self.cell.is_current(self.attempt)
    }

    /// Waits until the run has ended without this task, or the attempt was given up.
    ///
    /// The node's own future is dropped then, and learns nothing more; this is for what it has started beside
    /// itself: a spawned task, a child process, work on a thread of its own.
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

/// Extracts the means to emit custom events into the run's event log.
#[derive(Clone)]
pub struct Emit {
    cell: Arc<TaskCell>,
    attempt: u32,
}

impl Emit {
    /// Returns `true` if the run has observers, or keeps its events; otherwise nothing is encoded.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.cell.run.sink.is_some()
    }

    /// Emits a custom event, which also shows that the attempt is alive. A value that has no JSON form is emitted
    /// as its error text.
    ///
    /// It never waits. Where the handle of a streamed run is not asked for events for long, the node is held up
    /// at its next await.
    pub fn emit<T: Serialize + ?Sized>(&self, name: &str, data: &T) {
        if let Some(sink) = self.sink() {
            sink.custom(&self.cell, self.attempt, name, encoded(data));
        }
    }

    /// Emits a piece of a message: what a model says, as it says it. Like [`emit`](Self::emit) otherwise.
    pub fn message<T: Serialize + ?Sized>(&self, chunk: &T) {
        if let Some(sink) = self.sink() {
            sink.message(&self.cell, self.attempt, encoded(chunk));
        }
    }

    /// The sink for events, while the attempt counts and the run has observers or keeps events.
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
