//! The phases of a run, each with the data that is legal in it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::task::{Entry, PlannedTask, Status, TaskNumber};
use crate::checkpoint::Source;
use crate::graph::NodeId;

/// A superstep that is about to be stored as a checkpoint. The machine passes it to the driver with
/// [`Command::Commit`](super::Command::Commit), and receives it back with the store's answer.
#[derive(Debug)]
pub struct Barrier {
    /// The checkpoint's step.
    pub step: i64,
    /// The source of the checkpoint.
    pub source: Source,
    pub(super) ran: Vec<Entry>,
    pub(super) next: Vec<Entry>,
}

impl Barrier {
    /// Creates a barrier without tasks.
    pub(super) fn new(step: i64, source: Source) -> Box<Self> {
        Box::new(Self { step, source, ran: Vec::new(), next: Vec::new() })
    }

    /// Returns the nodes that ran, in merge order.
    pub fn ran(&self) -> impl ExactSizeIterator<Item = NodeId> {
        self.ran.iter().map(|entry| entry.planned.node)
    }

    /// Returns `true` if no node is next: the run ends behind it.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.next.first().is_none_or(|first| first.planned.node == NodeId::END)
    }

    /// Returns the tasks that are next, in merge order.
    pub fn next(&self) -> impl ExactSizeIterator<Item = &PlannedTask> {
        self.next.iter().map(|entry| &entry.planned)
    }
}

/// The phase of a run.
#[derive(Debug)]
pub(super) enum Phase {
    /// The run has not begun.
    Idle,
    /// Tasks run, or wait for their turn.
    Running(Running),
    /// All tasks have finished, and some of their results are still being stored.
    Settling {
        barrier: Box<Barrier>,
        /// `true` if a result of another driver came first.
        outrun: bool,
    },
    /// The head is being read, because another driver recorded a result first.
    Reloading(Box<Barrier>),
    /// A checkpoint of another driver, or its recorded results for this superstep, are being read.
    Adopting(Box<Barrier>),
    /// The superstep is ready to be committed.
    Barrier(Box<Barrier>),
    /// The superstep is being committed. The driver has the barrier.
    Committing,
    /// The run is over. These are its last tasks, or the next ones.
    Stopped(Vec<Entry>),
}

impl Phase {
    /// Returns the tasks of the superstep that is running, waiting to be committed, or the last one.
    pub(super) fn tasks(&self) -> &[Entry] {
        match self {
            Self::Idle | Self::Committing => &[],
            Self::Running(Running { barrier, .. })
            | Self::Settling { barrier, .. }
            | Self::Reloading(barrier)
            | Self::Adopting(barrier)
            | Self::Barrier(barrier) => &barrier.ran,
            Self::Stopped(tasks) => tasks,
        }
    }

    /// Returns the step of the superstep that is running or waiting to be committed.
    pub(super) fn step(&self) -> Option<i64> {
        match self {
            Self::Running(Running { barrier, .. }) | Self::Barrier(barrier) => Some(barrier.step),
            _ => None,
        }
    }
}

/// A running superstep.
#[derive(Debug)]
pub(super) struct Running {
    /// Its tasks, and the step of the checkpoint to which they lead.
    pub(super) barrier: Box<Barrier>,
    /// The number of tasks that have neither finished nor paused nor failed.
    pub(super) open: usize,
    /// The number of attempts that run or wait for their retry.
    pub(super) active: usize,
    /// The position of the next task that may still wait for its turn.
    pub(super) turn: usize,
    pub(super) paused: bool,
    /// `true` if a result or a failure was passed to the store.
    pub(super) recorded: bool,
    /// `true` if a result of another driver came first.
    pub(super) outrun: bool,
}

impl Running {
    pub(super) fn new(barrier: Box<Barrier>) -> Self {
        let waits = |entry: &&Entry| matches!(entry.status, Status::Waiting | Status::Failed);
        let open = barrier.ran.iter().filter(waits).count();
        Self { barrier, open, active: 0, turn: 0, paused: false, recorded: false, outrun: false }
    }

    /// Returns the status of a running task.
    pub(super) fn under_way(&mut self, task: TaskNumber) -> Option<&mut Status> {
        let status = self.barrier.ran.get_mut(task.index()).map(|entry| &mut entry.status);
        let status = status.filter(|status| matches!(status, Status::Running(_) | Status::Handling(_)));
        debug_assert!(status.is_some(), "task {task:?} is not under way");
        status
    }

    /// Ends a running task; `false` if the task is not running.
    pub(super) fn end(&mut self, task: TaskNumber, end: Status) -> bool {
        let Some(status) = self.under_way(task) else { return false };
        *status = end;
        self.open -= 1;
        self.active -= 1;
        true
    }
}
