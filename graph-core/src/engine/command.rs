//! The commands that the machine gives to its driver.

use alloc::boxed::Box;
use core::time::Duration;

use super::phase::Barrier;
use super::task::TaskNumber;
use crate::checkpoint::Loaded;

/// A command that the driver must carry out.
#[derive(Debug)]
pub enum Command {
    /// Run the first attempt of a task.
    Run {
        /// The task.
        task: TaskNumber,
    },
    /// Run another attempt of a task, after a wait.
    Retry {
        /// The task.
        task: TaskNumber,
        /// The attempt, from 2.
        attempt: u32,
        /// The wait before the attempt.
        after: Duration,
    },
    /// Run the error handler of a task's node, as the task's next attempt.
    HandOver {
        /// The task.
        task: TaskNumber,
        /// The attempt; 1 if the node failed in an earlier run.
        attempt: u32,
    },
    /// Store the failure of a task's node, without waiting.
    RecordFailure {
        /// The task.
        task: TaskNumber,
    },
    /// Report that a task failed and is not retried.
    Fail {
        /// The task.
        task: TaskNumber,
    },
    /// Store a task's result as a pending write, without waiting. Answer with
    /// [`Event::Outrun`](super::Event::Outrun) if another driver's result came first.
    Record {
        /// The task.
        task: TaskNumber,
    },
    /// Wait until all recorded work is stored, and answer with [`Event::Settled`](super::Event::Settled).
    Settle,
    /// Merge the writes of the superstep's tasks in task order, store the checkpoint, and return the barrier with
    /// [`Event::Committed`](super::Event::Committed) or [`Event::Unmergeable`](super::Event::Unmergeable).
    Commit(Box<Barrier>),
    /// Read the thread's head, and answer with [`Event::Reloaded`](super::Event::Reloaded).
    Reload,
    /// Continue from this checkpoint, with its unfinished work, and answer with
    /// [`Event::Begin`](super::Event::Begin), as for a resume. Results that only this driver has still count if the
    /// superstep is based on this checkpoint.
    Adopt(Box<Loaded>),
    /// Cancel the running tasks.
    Abort,
    /// The run is over.
    Stop(Ending),
}

/// The way a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// No task is next.
    Finished,
    /// Tasks wait for answers.
    Interrupted,
    /// The requested task is recorded; its superstep is not committed.
    TaskRecorded,
    /// A task failed; the rest is resumable.
    Failed {
        /// The task.
        task: TaskNumber,
    },
    /// The writes of the superstep cannot be merged; the rest is resumable.
    Unmergeable,
    /// The barrier has a breakpoint, which [`Machine::stopped_at`](super::Machine::stopped_at) returns. The rest is
    /// resumable.
    Breakpoint,
    /// The recursion limit is reached; the rest is resumable.
    LimitReached,
    /// The superstep exceeded its timeout; the rest is resumable.
    TimedOut,
    /// The caller cancelled the run; the rest is resumable.
    Cancelled,
    /// The caller asked to stop at a barrier; the rest is resumable.
    Drained,
    /// Another run moved the thread's head.
    Superseded,
}
