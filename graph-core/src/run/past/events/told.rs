//! The parts from which the events of a checkpoint are rebuilt.

use std::sync::Arc;
use std::vec::Vec;

use crate::checkpoint::{Emitted, EmittedEvent, FailureRecord};
use crate::graph::Program;
use crate::id::{CheckpointId, NodeName, RunId, ThreadId};
use crate::run::runtime::event::{EventKind, PathSegment};

/// The attempt number if it is not stored.
pub(super) const UNKNOWN: u32 = 0;

/// A part of the rebuilt events.
pub(super) enum Told {
    Event(Happened),
    /// The state at this checkpoint, which is not read yet.
    Values {
        at: CheckpointId,
        happened: Moment,
    },
    /// The events of the subgraph of a task.
    Below(Below),
}

/// The time of an event, as far as it is known, and its run.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) run: RunId,
    pub(super) at_ms: u64,
}

pub(super) struct Happened {
    pub(super) moment: Moment,
    pub(super) kind: EventKind,
}

/// The subgraph of a task.
pub(super) struct Below {
    pub(super) program: Arc<Program>,
    pub(super) thread: ThreadId,
    pub(super) task: PathSegment,
    pub(super) runs: Runs,
    pub(super) unfinished: Unfinished,
}

/// The part of the unfinished work on top of a head that is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    Nothing,
    /// The failures, questions and subgraphs' events that the runs before this one left. This run reports its
    /// results itself.
    Before(RunId),
    /// All remaining work of a superstep that an input discarded.
    GivenUp,
    All,
}

/// The runs whose events are rebuilt for a subgraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    All,
    Only(RunId),
    AllBut(RunId),
}

impl Runs {
    pub(super) fn has(self, run: RunId) -> bool {
        match self {
            Self::All => true,
            Self::Only(only) => run == only,
            Self::AllBut(other) => run != other,
        }
    }
}

/// The events of a checkpoint, separated into those before its own event and the rest.
#[derive(Default)]
pub(super) struct Group {
    /// The events before its own event.
    pub(super) before: Vec<Told>,
    /// Its own event, and later ones.
    pub(super) rest: Vec<Told>,
}

/// A task with its position.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) step: i64,
    pub(super) task: u32,
    pub(super) node: &'a NodeName,
}

impl Placed<'_> {
    pub(super) fn started(self, attempt: u32) -> EventKind {
        EventKind::TaskStarted { step: self.step, task: self.task, node: self.node.clone(), attempt }
    }

    pub(super) fn paused(self) -> EventKind {
        EventKind::TaskPaused { step: self.step, task: self.task, node: self.node.clone() }
    }

    pub(super) fn failed(self, failure: &FailureRecord, handled: bool) -> EventKind {
        EventKind::TaskFailed {
            step: self.step,
            task: self.task,
            node: self.node.clone(),
            attempt: failure.attempts,
            error: failure.error.clone(),
            retry_in_ms: None,
            handled,
        }
    }

    pub(super) fn segment(self) -> PathSegment {
        PathSegment { node: self.node.clone(), step: self.step, task: self.task, attempt: UNKNOWN }
    }
}

/// Creates an event.
pub(super) fn told(moment: Moment, kind: EventKind) -> Told {
    Told::Event(Happened { moment, kind })
}

/// Adds the events that a task has emitted to `all`.
pub(super) fn emissions(at: Placed<'_>, emitted: &Emitted, end: Moment, all: &mut Vec<Told>) {
    let Placed { step, task, node } = at;
    if emitted.dropped > 0 {
        let count = emitted.dropped;
        all.push(told(end, EventKind::EmittedDropped { step, task, node: node.clone(), count }));
    }
    for event in &emitted.events {
        let node = node.clone();
        let (at_ms, kind) = match event.clone() {
            EmittedEvent::Custom { at_ms, name, data } => {
                (at_ms, EventKind::Custom { step, task, node, name, data })
            }
            EmittedEvent::Message { at_ms, chunk } => {
                (at_ms, EventKind::MessageChunk { step, task, node, chunk })
            }
        };
        all.push(told(Moment { at_ms, ..end }, kind));
    }
}
