//! The typed event log of a run.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::vec::Vec;

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::ambient::Ambient;
use super::outcome::{Interrupt, Status};
use super::stream::queue::EventQueue;
use super::stream::view::{View, Views};
use crate::checkpoint::Source;
use crate::error::ErrorReport;
use crate::id::{CheckpointId, NodeName, RunId, TaskId, ThreadId};
use crate::node::{CustomSink, TaskCell};
use crate::state::{Json, LoggedWrite, caught};

/// One event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// The event's number in the run's log: 0, 1, 2, … without gaps. In a rebuilt log, its number among the events
    /// read there: see [`PastEvents`](crate::run::PastEvents).
    pub seq: u64,
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The run.
    pub run: RunId,
    /// The tasks whose subgraphs contain the event, from the graph at the top down; empty for the graph itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathSegment>,
    /// The kind of event, with its data.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// A task that runs a subgraph.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PathSegment {
    /// Its node.
    pub node: NodeName,
    /// Its superstep.
    pub step: i64,
    /// Its position in the superstep.
    pub task: u32,
    /// Its attempt, from 1.
    pub attempt: u32,
}

/// The kinds of events of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The run began. This is the first event.
    RunStarted {
        /// The graph.
        graph: NodeName,
        /// The thread.
        thread: ThreadId,
        /// The checkpoint whose unfinished work it continues; `None` for a new input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumes: Option<CheckpointId>,
    },
    /// A superstep's tasks are about to run.
    SuperstepStarted {
        /// The step that its checkpoint will have.
        step: i64,
        /// Its tasks' nodes, in merge order.
        nodes: Vec<NodeName>,
        /// Its tasks' ids, in the same order, by which the threads of subgraphs are named. Empty in logs of older
        /// versions, and in a rebuilt log if the checkpoint before was pruned.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<TaskId>,
    },
    /// An attempt of a task began.
    TaskStarted {
        /// The superstep.
        step: i64,
        /// The task's position in it.
        task: u32,
        /// The node.
        node: NodeName,
        /// The attempt, from 1.
        attempt: u32,
    },
    /// A task finished.
    TaskFinished {
        /// The superstep.
        step: i64,
        /// The task's position in it.
        task: u32,
        /// The node.
        node: NodeName,
        /// The task's writes; those to secret fields have the value `"<secret>"`.
        writes: Vec<LoggedWrite>,
        /// The case that it chose.
        route: Option<String>,
        /// `true` if the result was recorded by an earlier run, so that the task did not run now.
        recorded: bool,
        /// `true` if the result is from the node's cache, so that the node did not run now.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        cached: bool,
    },
    /// The writes of a finished task, by field name. Built for [`View::Updates`] only.
    Update {
        /// The superstep.
        step: i64,
        /// The task's position in it.
        task: u32,
        /// The node.
        node: NodeName,
        /// The task's writes, in order; those to secret fields have the value `"<secret>"`.
        writes: Vec<NamedWrite>,
        /// `true` if the result was recorded by an earlier run, so that the task did not run now.
        recorded: bool,
    },
    /// The state after a superstep; on a resume also the state from which it continues. Built for [`View::Values`]
    /// only.
    Values {
        /// The step of the checkpoint with this state.
        step: i64,
        /// The state as an object by field name. Fields that are never stored are left out, and secret ones are
        /// `"<secret>"`.
        values: Json,
    },
    /// A task asked a question and waits for answers.
    TaskPaused {
        /// The superstep.
        step: i64,
        /// The task's position in it.
        task: u32,
        /// The node.
        node: NodeName,
    },
    /// An attempt of a task failed.
    TaskFailed {
        /// The superstep.
        step: i64,
        /// The task's position in it.
        task: u32,
        /// The node.
        node: NodeName,
        /// The attempt, from 1.
        attempt: u32,
        /// The error.
        error: ErrorReport,
        /// The time until the next attempt, in milliseconds; `None` if there is none.
        retry_in_ms: Option<u64>,
        /// `true` if the node's error handler continues the task.
        #[serde(default)]
        handled: bool,
    },
    /// A node emitted an event with [`Emit`](crate::node::Emit).
    Custom {
        /// The superstep.
        step: i64,
        /// The task's position in it.
        #[serde(default)]
        task: u32,
        /// The node.
        node: NodeName,
        /// The event's name.
        name: String,
        /// Its data.
        data: Json,
    },
    /// A part of a message, emitted by a node with [`Emit::message`](crate::node::Emit::message).
    MessageChunk {
        /// The superstep.
        step: i64,
        /// The task's position in it.
        #[serde(default)]
        task: u32,
        /// The node.
        node: NodeName,
        /// The part.
        chunk: Json,
    },
    /// Events that the task emitted here were dropped, because the events of a superstep exceeded the space limit.
    /// Only in a log that is rebuilt from a store.
    EmittedDropped {
        /// The superstep.
        step: i64,
        /// The task's position in it.
        task: u32,
        /// The node.
        node: NodeName,
        /// The number of dropped events: custom events and parts of messages.
        count: u64,
    },
    /// A checkpoint was stored.
    CheckpointSaved {
        /// Its id.
        id: CheckpointId,
        /// Its step.
        step: i64,
        /// The source of the checkpoint.
        source: Source,
        /// The nodes that are next, in merge order.
        next: Vec<NodeName>,
    },
    /// Questions were stored, and the run waits for answers.
    Interrupted {
        /// The questions.
        interrupts: Vec<Interrupt>,
    },
    /// The run stops at a breakpoint.
    BreakpointReached {
        /// The nodes before which it stops.
        before: Vec<NodeName>,
        /// The nodes after which it stops.
        after: Vec<NodeName>,
    },
    /// The run ended while a join still waited, because some of its sources never ran.
    JoinUnfinished {
        /// The joined node.
        target: NodeName,
        /// The sources that did not arrive.
        missing: Vec<NodeName>,
    },
    /// The run ended. This is the last event of a run that did not fail.
    RunFinished {
        /// The status that the run ended with.
        status: Status,
    },
    /// The run failed. This is the last event of a failed run.
    RunFailed {
        /// The error message.
        message: String,
    },
}

/// A write, with the name of its field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedWrite {
    /// The field.
    pub field: String,
    /// The operation: the name of a logged operation, `set` for an overwrite, or `reduce` for a reducer without an
    /// operation of its own.
    pub op: String,
    /// Its operand.
    pub value: Json,
}

/// Observes runs. It is called in the order of events, on the thread that causes them, so it should return quickly.
///
/// An observer cannot change a run. If it panics, it is not called again in that run, and the run continues.
pub trait Observer: Send + Sync + 'static {
    /// Handles an event.
    fn on_event(&self, event: &RunEvent);

    /// Returns the views that the observer wants built. The observer receives every event of the log whatever it
    /// returns, but values and updates are in the log only if an observer or the caller asks for them.
    fn views(&self) -> Views {
        View::Debug.into()
    }
}

impl<F: Fn(&RunEvent) + Send + Sync + 'static> Observer for F {
    fn on_event(&self, event: &RunEvent) {
        self(event);
    }
}

/// The log that a driver writes and observers read. It exists only for an observed run.
///
/// The subgraphs of a run write into its log, each under its own path.
pub(crate) struct EventLog {
    shared: Arc<Shared>,
    path: Vec<PathSegment>,
}

struct Shared {
    run: RunId,
    ambient: Arc<dyn Ambient>,
    queue: Option<Arc<EventQueue>>,
    wanted: Views,
    writing: Mutex<Writing>,
}

struct Writing {
    next_seq: u64,
    /// The observers that have not panicked.
    observers: Vec<Arc<dyn Observer>>,
}

impl EventLog {
    /// Creates a log, if it has readers.
    pub(crate) fn new(
        run: RunId,
        ambient: Arc<dyn Ambient>,
        observers: Vec<Arc<dyn Observer>>,
        queue: Option<Arc<EventQueue>>,
    ) -> Option<Arc<Self>> {
        if observers.is_empty() && queue.is_none() {
            return None;
        }
        let of_queue = queue.as_ref().map_or(Views::NONE, |queue| queue.views);
        let wanted = observers.iter().fold(of_queue, |wanted, observer| wanted | observer.views());
        let writing = Mutex::new(Writing { next_seq: 0, observers });
        let shared = Arc::new(Shared { run, ambient, queue, wanted, writing });
        Some(Arc::new(Self { shared, path: Vec::new() }))
    }

    /// Returns the log for the subgraph of a task.
    pub(crate) fn below(&self, task: PathSegment) -> Arc<Self> {
        let mut path = self.path.clone();
        path.push(task);
        Arc::new(Self { shared: Arc::clone(&self.shared), path })
    }

    /// Returns `true` if a reader wants the events that are built for this view only.
    pub(crate) fn wants(&self, view: View) -> bool {
        self.shared.wanted.has(view)
    }

    pub(crate) fn write(&self, kind: EventKind) {
        let Shared { run, ambient, queue, writing, .. } = &*self.shared;
        // The lock is held while observers are called, so that each of them sees the log in order.
        let mut writing = writing.lock().unwrap_or_else(PoisonError::into_inner);
        let at_ms = ambient.now_ms();
        let event = RunEvent { seq: writing.next_seq, at_ms, run: *run, path: self.path.clone(), kind };
        writing.next_seq += 1;
        if let Some(queue) = queue {
            queue.push(&event);
        }
        writing.observers.retain(|observer| caught(|| observer.on_event(&event)).is_ok());
    }
}

impl CustomSink for EventLog {
    fn custom(&self, cell: &TaskCell, _attempt: u32, name: &str, data: Json) {
        let (step, task, node) = (cell.facts.step, cell.facts.task, cell.node().clone());
        self.write(EventKind::Custom { step, task, node, name: name.into(), data });
    }

    fn message(&self, cell: &TaskCell, _attempt: u32, chunk: Json) {
        let (step, task, node) = (cell.facts.step, cell.facts.task, cell.node().clone());
        self.write(EventKind::MessageChunk { step, task, node, chunk });
    }

    fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        match &self.shared.queue {
            Some(queue) => queue.poll_room(context),
            None => Poll::Ready(()),
        }
    }
}

impl fmt::Debug for EventLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLog").field("run", &self.shared.run).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_an_older_version_has_no_ids_of_tasks() {
        let stored = r#"{"seq":6,"at_ms":9,"run":"01941f38-be40-7000-8000-0003ebebebe8",
            "type":"superstep_started","step":1,"nodes":["plan"]}"#;
        let event: RunEvent = serde_json::from_str(stored).expect("it is an event");
        let nodes = alloc::vec![NodeName::from("plan")];
        assert_eq!(event.kind, EventKind::SuperstepStarted { step: 1, nodes, tasks: Vec::new() });
    }
}
