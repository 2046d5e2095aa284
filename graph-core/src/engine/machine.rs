//! The machine: events in, commands out.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::command::{Command, Ending};
use super::event::{Begin, Event, Restored};
use super::plan::{Arrivals, Planner};
use super::task::{Entry, PlannedTask, Status};
use crate::checkpoint::{Cause, Source};
use crate::graph::{NodeId, Targets, Topology};

/// Decides what runs, in which order it counts, and when it is stored. Pure: it reads no clock, draws no
/// random number, awaits nothing, and sees neither the state nor the store.
///
/// ```text
///            Begin                    last task finished            Committed
///   Idle ───────────► Running ──────────────────────────► Barrier ──────────┐
///            (Run..)     ▲        (Record.. while others run, Commit)       │
///                        └──────────────────────────────────────────────────┘
///                        │  a failure, a pause, a cancellation               │  nothing next, the limit,
///                        ▼                                                   ▼  a drain
///                     Stopped (Stop)                                      Stopped (Stop)
/// ```
///
/// Feed it with [`handle`](Self::handle) and carry out what [`next_command`](Self::next_command) returns, in
/// order, until it returns `None`; then wait for the next event. After [`Command::Stop`] it ignores events.
pub struct Machine {
    topology: Arc<Topology>,
    limits: Limits,
    planner: Planner,
    joins: Arrivals,
    commands: VecDeque<Command>,
    phase: Phase,
    /// User supersteps that may still begin in this run.
    remaining: u64,
    draining: bool,
}

/// What bounds a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// User supersteps in one run.
    pub recursion: u64,
    /// Tasks at once.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { recursion: 1_000, concurrency: usize::MAX }
    }
}

enum Phase {
    Idle,
    Running(Superstep),
    Barrier(Barrier),
    Stopped,
}

struct Superstep {
    /// The step of the checkpoint that this superstep will write.
    step: i64,
    tasks: Vec<Entry>,
    /// Tasks that are neither finished nor paused nor failed.
    open: usize,
    /// Attempts that run or wait for their retry.
    running: usize,
    /// The next task that may still be waiting for its turn.
    turn: usize,
    paused: bool,
}

/// A finished superstep, on its way into a checkpoint.
#[derive(Debug)]
pub struct Barrier {
    /// The checkpoint's step.
    pub step: i64,
    /// How the checkpoint comes about.
    pub source: Source,
    ran: Vec<Entry>,
    next: Vec<Entry>,
}

impl Barrier {
    /// The nodes that ran, in merge order.
    pub fn ran(&self) -> impl ExactSizeIterator<Item = NodeId> {
        self.ran.iter().map(|entry| entry.planned.node)
    }

    /// What is next, in merge order.
    pub fn next(&self) -> impl ExactSizeIterator<Item = &PlannedTask> {
        self.next.iter().map(|entry| &entry.planned)
    }
}

impl Machine {
    /// A machine that has not begun.
    #[must_use]
    pub fn new(topology: Arc<Topology>, limits: Limits) -> Self {
        Self {
            planner: Planner::new(&topology),
            joins: Arrivals::none(&topology),
            topology,
            limits,
            commands: VecDeque::new(),
            phase: Phase::Idle,
            remaining: limits.recursion,
            draining: false,
        }
    }

    /// What to do next; `None` until the next event.
    pub fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// Takes note of what happened.
    pub fn handle(&mut self, event: Event) {
        match (event, core::mem::replace(&mut self.phase, Phase::Idle)) {
            (_, stopped @ Phase::Stopped) => self.phase = stopped,
            (Event::Begin(begin), phase) => {
                self.refund(&begin, &phase);
                self.begin(begin);
            }
            (Event::TaskFinished { task, targets }, Phase::Running(step)) => {
                self.finished(step, task, targets)
            }
            (Event::TaskPaused { task }, Phase::Running(step)) => self.paused(step, task),
            (Event::TaskFailed { task, retry, after_node }, Phase::Running(step)) => {
                self.failed(step, task, retry, after_node);
            }
            (Event::Committed, Phase::Barrier(barrier)) => self.committed(barrier),
            (Event::Unmergeable, Phase::Barrier(barrier)) => self.unmergeable(&barrier),
            (Event::Superseded, _) => self.abort(Ending::Superseded),
            (Event::Cancel, _) => self.abort(Ending::Cancelled),
            (Event::Drain, phase) => {
                self.draining = true;
                self.phase = phase;
            }
            // A task that ended after its superstep was given up, or an answer to no command: no news.
            (_, phase) => self.phase = phase,
        }
    }

    /// The superstep that waits to be committed.
    #[must_use]
    pub fn barrier(&self) -> Option<&Barrier> {
        match &self.phase {
            Phase::Barrier(barrier) => Some(barrier),
            _ => None,
        }
    }

    /// A task of the superstep that runs or waits to be committed.
    #[must_use]
    pub fn task(&self, task: u32) -> Option<&PlannedTask> {
        self.tasks().get(task as usize).map(|entry| &entry.planned)
    }

    /// The number of tasks in the superstep that runs or waits to be committed.
    #[must_use]
    pub fn width(&self) -> usize {
        self.tasks().len()
    }

    fn tasks(&self) -> &[Entry] {
        match &self.phase {
            Phase::Running(step) => &step.tasks,
            Phase::Barrier(barrier) => &barrier.ran,
            Phase::Idle | Phase::Stopped => &[],
        }
    }

    /// What bounds the run.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The step of the superstep that runs or waits to be committed.
    #[must_use]
    pub fn step(&self) -> Option<i64> {
        match &self.phase {
            Phase::Running(step) => Some(step.step),
            Phase::Barrier(barrier) => Some(barrier.step),
            Phase::Idle | Phase::Stopped => None,
        }
    }

    /// Joins that wait for more of their sources.
    #[must_use]
    pub fn joins(&self) -> &Arrivals {
        &self.joins
    }

    /// User supersteps that may follow the running one.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// A superstep that begins again at its own barrier, with results of another driver, counts once.
    fn refund(&mut self, begin: &Begin, phase: &Phase) {
        if let (Begin::Resume(restored), Phase::Barrier(barrier)) = (begin, phase)
            && barrier.step == restored.step + 1
            && barrier.ran().any(|node| node != NodeId::START)
        {
            self.remaining += 1;
        }
    }

    fn begin(&mut self, begin: Begin) {
        match begin {
            // Unfinished work, half-arrived joins included, ends with the turn it belongs to.
            Begin::Input { last_step } => {
                self.joins = Arrivals::none(&self.topology);
                let start = PlannedTask { node: NodeId::START, cause: Cause::Input, input: None };
                let step = last_step.map_or(-1, |last| last + 1);
                let next = vec![Entry::waiting(start)];
                self.phase = Phase::Barrier(Barrier { step, source: Source::Input, ran: Vec::new(), next });
                self.commands.push_back(Command::Commit);
            }
            Begin::Resume(Restored { step, tasks, joins, finished }) => {
                self.joins = joins;
                self.run_superstep(step + 1, tasks.into_iter().map(Entry::waiting).collect(), finished);
            }
        }
    }

    /// Begins a superstep, of which some tasks may have finished in an earlier run.
    fn run_superstep(&mut self, step: i64, mut tasks: Vec<Entry>, finished: Vec<(u32, Targets)>) {
        let Some(first) = tasks.first() else {
            return self.stop(Ending::Finished);
        };
        if first.planned.node != NodeId::START {
            if self.draining {
                return self.stop(Ending::Drained);
            }
            let Some(remaining) = self.remaining.checked_sub(1) else {
                return self.stop(Ending::LimitReached);
            };
            self.remaining = remaining;
        }
        let mut open = tasks.len();
        for (task, targets) in finished {
            tasks[task as usize].status = Status::Finished(targets);
            open -= 1;
        }
        let mut superstep = Superstep { step, tasks, open, running: 0, turn: 0, paused: false };
        self.fill(&mut superstep);
        self.settle(superstep);
    }

    /// Starts waiting tasks, as many as the concurrency limit allows.
    fn fill(&mut self, step: &mut Superstep) {
        while step.running < self.limits.concurrency
            && let Some(entry) = step.tasks.get_mut(step.turn)
        {
            if matches!(entry.status, Status::Waiting) {
                entry.status = Status::Running(1);
                step.running += 1;
                let task = position(step.turn);
                self.commands.push_back(Command::Run { task, attempt: 1, after: Duration::ZERO });
            }
            step.turn += 1;
        }
    }

    fn finished(&mut self, mut step: Superstep, task: u32, targets: Targets) {
        if !step.end(task, Status::Finished(targets)) {
            self.phase = Phase::Running(step);
            return;
        }
        // The last task of a superstep goes straight into the checkpoint.
        if step.open > 0 || step.paused {
            self.commands.push_back(Command::Record { task });
        }
        self.fill(&mut step);
        self.settle(step);
    }

    fn paused(&mut self, mut step: Superstep, task: u32) {
        if step.end(task, Status::Paused) {
            step.paused = true;
            self.fill(&mut step);
        }
        self.settle(step);
    }

    fn failed(&mut self, mut step: Superstep, task: u32, retry: Option<Duration>, after_node: bool) {
        let Some(&mut Status::Running(ref mut attempt)) = step.status(task) else {
            self.phase = Phase::Running(step);
            return;
        };
        if let Some(after) = retry {
            *attempt += 1;
            let attempt = *attempt;
            self.commands.push_back(Command::Run { task, attempt, after });
            self.phase = Phase::Running(step);
            return;
        }
        step.end(task, Status::Ended);
        if after_node {
            self.commands.push_back(Command::Record { task });
        }
        self.abort(Ending::Failed { task });
    }

    /// Goes on to the barrier when every task has finished, or stops when what is left is paused.
    fn settle(&mut self, step: Superstep) {
        if step.open > 0 {
            self.phase = Phase::Running(step);
        } else if step.paused {
            self.stop(Ending::Interrupted);
        } else {
            self.close(step);
        }
    }

    fn close(&mut self, step: Superstep) {
        let Superstep { step, tasks: mut ran, .. } = step;
        let next = self.planner.plan(&self.topology, &mut ran, &mut self.joins);
        self.phase = Phase::Barrier(Barrier { step, source: Source::Loop, ran, next });
        self.commands.push_back(Command::Commit);
    }

    fn committed(&mut self, barrier: Barrier) {
        self.planner.recycle(barrier.ran);
        self.run_superstep(barrier.step + 1, barrier.next, Vec::new());
    }

    /// Nothing of the superstep is stored, and what its tasks did is not lost: they need not run again once the
    /// cause is mended.
    fn unmergeable(&mut self, barrier: &Barrier) {
        let records = (0..barrier.ran.len()).map(|task| Command::Record { task: position(task) });
        self.commands.extend(records);
        self.stop(Ending::Unmergeable);
    }

    fn abort(&mut self, ending: Ending) {
        // What was to start does not; what was finished is still recorded.
        self.commands.retain(|command| matches!(command, Command::Record { .. }));
        self.commands.push_back(Command::Abort);
        self.stop(ending);
    }

    fn stop(&mut self, ending: Ending) {
        self.commands.push_back(Command::Stop(ending));
        self.phase = Phase::Stopped;
    }
}

impl Superstep {
    fn status(&mut self, task: u32) -> Option<&mut Status> {
        self.tasks.get_mut(task as usize).map(|entry| &mut entry.status)
    }

    /// Ends a running task; `false` when it was not running.
    fn end(&mut self, task: u32, end: Status) -> bool {
        match self.status(task) {
            Some(status @ Status::Running(_)) => {
                *status = end;
                self.open -= 1;
                self.running -= 1;
                true
            }
            _ => false,
        }
    }
}

fn position(index: usize) -> u32 {
    u32::try_from(index).expect("a superstep has fewer than 2^32 tasks")
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match &self.phase {
            Phase::Idle => "idle",
            Phase::Running(_) => "running",
            Phase::Barrier(_) => "at the barrier",
            Phase::Stopped => "stopped",
        };
        f.debug_struct("Machine").field("phase", &phase).field("step", &self.step()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
