//! The commands that the machine gives to its driver.

use alloc::boxed::Box;
use core::time::Duration;

use super::phase::Barrier;
use super::task::TaskNumber;
use crate::checkpoint::Loaded;

/// Something the driver must do.
#[derive(Debug)]
pub enum Command {
    /// Run the first attempt of a task.
    Run {
        /// Which.
        task: TaskNumber,
    },
    /// Run another attempt of a task, after a wait.
    Retry {
        /// Which.
        task: TaskNumber,
        /// The attempt, from 2.
        attempt: u32,
        /// The wait before the attempt.
        after: Duration,
    },
    /// Run the error handler of a task's node, as the task's next attempt.
    HandOver {
        /// Which.
        task: TaskNumber,
        /// The attempt; 1 where the node failed in an earlier run.
        attempt: u32,
    },
    /// Store the failure of a task's node, without waiting.
    RecordFailure {
        /// Which.
        task: TaskNumber,
    },
    /// Report that a task failed for good.
    Fail {
        /// Which.
        task: TaskNumber,
    },
    /// Store a task's result as a pending write, without waiting. Answer with
    /// [`Event::Outrun`](super::Event::Outrun) if another driver's result came first.
    Record {
        /// Which.
        task: TaskNumber,
    },
    /// Wait until everything that was recorded is stored, and answer with
    /// [`Event::Settled`](super::Event::Settled).
    Settle,
    /// Merge the writes of the superstep's tasks in task order, store the checkpoint, and give the barrier back with
    /// [`Event::Committed`](super::Event::Committed) or [`Event::Unmergeable`](super::Event::Unmergeable).
    Commit(Box<Barrier>),
    /// Read the thread's head, and answer with [`Event::Reloaded`](super::Event::Reloaded).
    Reload,
    /// Continue from this checkpoint, with the work on top of it: answer with
    /// [`Event::Begin`](super::Event::Begin), as a resume does. Results that only this driver has count where the
    /// checkpoint is still the one that the superstep stands on.
    Adopt(Box<Loaded>),
    /// Cancel the tasks that still run.
    Abort,
    /// The run is over.
    Stop(Ending),
}

/// The way a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing is next.
    Finished,
    /// Tasks wait for answers.
    Interrupted,
    /// The one task that was to run is recorded; its superstep is not committed.
    TaskRecorded,
    /// This task failed; the rest is resumable.
    Failed {
        /// Which.
        task: TaskNumber,
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
