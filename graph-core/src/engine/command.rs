//! What the machine wants done.

use core::time::Duration;

/// Something the driver must do. Tasks are named by their position in the running superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run an attempt of a task, after a wait.
    Run {
        /// Which.
        task: u32,
        /// The attempt, from 1.
        attempt: u32,
        /// How long to wait first.
        after: Duration,
    },
    /// Store a task's result as a pending write.
    Record {
        /// Which.
        task: u32,
    },
    /// Merge the writes of the superstep's tasks in task order, store the checkpoint, and answer with
    /// [`Event::Committed`](super::Event::Committed).
    Commit,
    /// Cancel the tasks that still run.
    Abort,
    /// The run is over.
    Stop(Ending),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing is next.
    Finished,
    /// Tasks wait for answers.
    Interrupted,
    /// This task failed; the rest is resumable.
    Failed {
        /// Which.
        task: u32,
    },
    /// The writes of the superstep cannot be merged; the rest is resumable.
    Unmergeable,
    /// The barrier has a breakpoint; [`Machine::stopped_at`](super::Machine::stopped_at) says which. The rest is
    /// resumable.
    Breakpoint,
    /// The recursion limit is reached; the rest is resumable.
    LimitReached,
    /// The superstep took longer than it may; the rest is resumable.
    TimedOut,
    /// The caller cancelled; the rest is resumable.
    Cancelled,
    /// The caller asked to stop at a barrier; the rest is resumable.
    Drained,
    /// Another run moved the thread's head.
    Superseded,
}
