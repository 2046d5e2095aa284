//! What happens to the machine.

use alloc::vec::Vec;
use core::time::Duration;

use super::plan::Arrivals;
use super::task::PlannedTask;
use crate::graph::Targets;

/// Something that happened. Tasks are named by their position in the running superstep.
#[derive(Debug)]
pub enum Event {
    /// A run begins. The first event, and the only one in which run, resume and fork differ.
    Begin(Begin),
    /// A task produced its outcome and its route.
    TaskFinished {
        /// Which.
        task: u32,
        /// Where routes and branches send it, beside its plain edges.
        targets: Targets,
    },
    /// A task asked a question and waits.
    TaskPaused {
        /// Which.
        task: u32,
    },
    /// An attempt of a task failed.
    TaskFailed {
        /// Which.
        task: u32,
        /// How long to wait before the next attempt; `None` when there is none.
        retry: Option<Duration>,
    },
    /// A task produced its outcome, and its routing failed: nothing says where it leads.
    RoutingFailed {
        /// Which.
        task: u32,
    },
    /// The barrier is behind us: writes are merged, the checkpoint is stored.
    Committed,
    /// The writes of the superstep cannot be merged: they conflict, a reducer panicked, a value has no JSON form.
    Unmergeable,
    /// Another run moved the thread's head: this one has lost.
    Superseded,
    /// The caller wants the run to stop now.
    Cancel,
    /// The superstep took longer than it may.
    TimedOut,
    /// The caller wants the run to stop at the next barrier.
    Drain,
}

/// Where a run begins.
#[derive(Debug)]
pub enum Begin {
    /// With a new input on top of a checkpoint.
    Input {
        /// The last checkpoint's step; `None` on a new thread.
        last_step: Option<i64>,
    },
    /// With the unfinished work of a checkpoint.
    Resume(Restored),
}

/// The unfinished work of a checkpoint.
#[derive(Debug)]
pub struct Restored {
    /// The checkpoint's step.
    pub step: i64,
    /// Its next tasks, in merge order.
    pub tasks: Vec<PlannedTask>,
    /// Its waiting joins.
    pub joins: Arrivals,
    /// Tasks that finished before, by position, with their targets.
    pub finished: Vec<(u32, Targets)>,
}
