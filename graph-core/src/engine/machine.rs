//! The machine: events in, commands out.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::breakpoint::{Break, Breakpoints};
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
    superstep: Superstep,
    /// User supersteps that may still begin in this run.
    remaining: u64,
    draining: bool,
    breakpoints: Option<Box<Pauses>>,
}

/// Where the run is to stop, and where it did.
struct Pauses {
    wanted: Breakpoints,
    hit: Break,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Running,
    Barrier,
    Stopped,
}

/// The superstep that runs, waits to be committed, or was the last.
struct Superstep {
    /// The step of the checkpoint that this superstep will write.
    step: i64,
    source: Source,
    tasks: Vec<Entry>,
    /// Tasks that are neither finished nor paused nor failed.
    open: usize,
    /// Attempts that run or wait for their retry.
    running: usize,
    /// The next task that may still be waiting for its turn.
    turn: usize,
    paused: bool,
    /// At the barrier, the tasks of the one after it.
    next: Vec<Entry>,
}

/// A finished superstep, on its way into a checkpoint.
#[derive(Debug)]
pub struct Barrier<'m> {
    /// The checkpoint's step.
    pub step: i64,
    /// How the checkpoint comes about.
    pub source: Source,
    ran: &'m [Entry],
    next: &'m [Entry],
}

impl<'m> Barrier<'m> {
    /// The nodes that ran, in merge order.
    pub fn ran(&self) -> impl ExactSizeIterator<Item = NodeId> + use<'m> {
        self.ran.iter().map(|entry| entry.planned.node)
    }

    /// What is next, in merge order.
    pub fn next(&self) -> impl ExactSizeIterator<Item = &'m PlannedTask> + use<'m> {
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
            superstep: Superstep::ahead(-1, Source::Input),
            remaining: limits.recursion,
            draining: false,
            breakpoints: None,
        }
    }

    /// Makes the run stop at these breakpoints. One at the barrier that it begins at is passed.
    #[must_use]
    pub fn with_breakpoints(mut self, wanted: Breakpoints) -> Self {
        let some = !wanted.is_empty();
        self.breakpoints = some.then(|| Box::new(Pauses { wanted, hit: Break::default() }));
        self
    }

    /// What to do next; `None` until the next event.
    pub fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// Takes note of what happened.
    pub fn handle(&mut self, event: Event) {
        match (event, self.phase) {
            (_, Phase::Stopped) => {}
            (Event::Begin(begin), _) => {
                self.refund(&begin);
                self.begin(begin);
            }
            (Event::TaskFinished { task, targets }, Phase::Running) => self.finished(task, targets),
            (Event::TaskPaused { task }, Phase::Running) => self.paused(task),
            (Event::TaskFailed { task, retry }, Phase::Running) => self.failed(task, retry),
            (Event::RoutingFailed { task }, Phase::Running) => self.routing_failed(task),
            (Event::Committed, Phase::Barrier) => self.committed(),
            (Event::Unmergeable, Phase::Barrier) => self.unmergeable(),
            (Event::Superseded, _) => self.abort(Ending::Superseded),
            (Event::TimedOut, Phase::Running) => self.abort(Ending::TimedOut),
            (Event::Cancel, _) => self.abort(Ending::Cancelled),
            (Event::Drain, _) => self.draining = true,
            // A task that ended after its superstep was given up, or an answer to no command: no news.
            _ => {}
        }
    }

    /// The superstep that waits to be committed.
    #[must_use]
    pub fn barrier(&self) -> Option<Barrier<'_>> {
        let Superstep { step, source, tasks, next, .. } = &self.superstep;
        let barrier = Barrier { step: *step, source: *source, ran: tasks, next };
        (self.phase == Phase::Barrier).then_some(barrier)
    }

    /// A task of the superstep that runs, waits to be committed, or was the last.
    #[must_use]
    pub fn task(&self, task: u32) -> Option<&PlannedTask> {
        self.superstep.tasks.get(task as usize).map(|entry| &entry.planned)
    }

    /// The number of tasks in that superstep.
    #[must_use]
    pub fn width(&self) -> usize {
        self.superstep.tasks.len()
    }

    /// What bounds the run.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The step of the superstep that runs or waits to be committed.
    #[must_use]
    pub fn step(&self) -> Option<i64> {
        matches!(self.phase, Phase::Running | Phase::Barrier).then_some(self.superstep.step)
    }

    /// Joins that wait for more of their sources.
    #[must_use]
    pub fn joins(&self) -> &Arrivals {
        &self.joins
    }

    /// The breakpoint at which the run stopped.
    #[must_use]
    pub fn stopped_at(&self) -> Option<&Break> {
        self.breakpoints.as_deref().map(|pauses| &pauses.hit)
    }

    /// User supersteps that may follow the running one.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// A superstep that begins again at its own barrier, with results of another driver, counts once.
    fn refund(&mut self, begin: &Begin) {
        if let (Begin::Resume(restored), Some(barrier)) = (begin, self.barrier())
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
                self.superstep = Superstep::ahead(step, Source::Input);
                self.superstep.next.push(Entry::waiting(start));
                self.phase = Phase::Barrier;
                self.commands.push_back(Command::Commit);
            }
            Begin::Resume(Restored { step, tasks, joins, finished }) => {
                self.joins = joins;
                // The checkpoint of the running superstep, from another driver of this run: a barrier like any
                // other. Any other checkpoint is where the run begins.
                let passed = self.phase == Phase::Barrier && self.superstep.step == step;
                let ran = core::mem::replace(&mut self.superstep, Superstep::ahead(step, Source::Loop)).tasks;
                self.superstep.tasks.extend(tasks.into_iter().map(Entry::waiting));
                for (task, targets) in finished {
                    self.superstep.tasks[task as usize].status = Status::Finished(targets);
                }
                if passed && self.breaks(&ran) {
                    return;
                }
                self.run_superstep();
            }
        }
    }

    /// Begins the superstep after the last one with the tasks that are there, of which some may have finished
    /// in an earlier run.
    fn run_superstep(&mut self) {
        let superstep = &mut self.superstep;
        let Some(first) = superstep.tasks.first().filter(|first| first.planned.node != NodeId::END) else {
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
        superstep.step += 1;
        superstep.source = Source::Loop;
        let waits = |entry: &&Entry| matches!(entry.status, Status::Waiting);
        superstep.open = superstep.tasks.iter().filter(waits).count();
        (superstep.running, superstep.turn, superstep.paused) = (0, 0, false);
        self.phase = Phase::Running;
        self.fill();
        self.settle();
    }

    /// Starts waiting tasks, as many as the concurrency limit allows.
    fn fill(&mut self) {
        let superstep = &mut self.superstep;
        while superstep.running < self.limits.concurrency
            && let Some(entry) = superstep.tasks.get_mut(superstep.turn)
        {
            if matches!(entry.status, Status::Waiting) {
                entry.status = Status::Running(1);
                superstep.running += 1;
                let task = position(superstep.turn);
                self.commands.push_back(Command::Run { task, attempt: 1, after: Duration::ZERO });
            }
            superstep.turn += 1;
        }
    }

    fn finished(&mut self, task: u32, targets: Targets) {
        if !self.superstep.end(task, Status::Finished(targets)) {
            return;
        }
        // The last task of a superstep goes straight into the checkpoint.
        if self.superstep.open > 0 || self.superstep.paused {
            self.commands.push_back(Command::Record { task });
        }
        self.fill();
        self.settle();
    }

    fn paused(&mut self, task: u32) {
        if self.superstep.end(task, Status::Paused) {
            self.superstep.paused = true;
            self.fill();
            self.settle();
        }
    }

    fn failed(&mut self, task: u32, retry: Option<Duration>) {
        let Some(&mut Status::Running(ref mut attempt)) = self.superstep.status(task) else {
            return;
        };
        if let Some(after) = retry {
            *attempt += 1;
            let attempt = *attempt;
            self.commands.push_back(Command::Run { task, attempt, after });
            return;
        }
        self.superstep.end(task, Status::Ended);
        self.abort(Ending::Failed { task });
    }

    /// Like a failure, but what the node did is not lost.
    fn routing_failed(&mut self, task: u32) {
        if self.superstep.end(task, Status::Ended) {
            self.commands.push_back(Command::Record { task });
            self.abort(Ending::Failed { task });
        }
    }

    /// Goes on to the barrier when every task has finished, or stops when what is left is paused.
    fn settle(&mut self) {
        if self.superstep.open > 0 {
            return;
        }
        if self.superstep.paused {
            return self.stop(Ending::Interrupted);
        }
        let Superstep { tasks, next, .. } = &mut self.superstep;
        self.planner.plan(&self.topology, tasks, &mut self.joins, next);
        self.phase = Phase::Barrier;
        self.commands.push_back(Command::Commit);
    }

    fn committed(&mut self) {
        let Superstep { tasks, next, .. } = &mut self.superstep;
        core::mem::swap(tasks, next);
        if self.breakpoints.is_some() {
            let ran = core::mem::take(&mut self.superstep.next);
            if self.breaks(&ran) {
                return;
            }
        }
        self.superstep.next.clear();
        self.run_superstep();
    }

    /// Stops if there is a breakpoint between what ran and what is next. Where nothing is next there is nothing
    /// to stop before.
    fn breaks(&mut self, ran: &[Entry]) -> bool {
        let Some(pauses) = self.breakpoints.as_deref_mut().filter(|_| !self.superstep.tasks.is_empty())
        else {
            return false;
        };
        let node = |entry: &Entry| entry.planned.node;
        let hit = pauses.wanted.between(ran.iter().map(node), self.superstep.tasks.iter().map(node));
        let Some(hit) = hit else {
            return false;
        };
        pauses.hit = hit;
        self.stop(Ending::Breakpoint);
        true
    }

    /// Nothing of the superstep is stored, and what its tasks did is not lost: they need not run again once the
    /// cause is mended.
    fn unmergeable(&mut self) {
        let records = (0..self.superstep.tasks.len()).map(|task| Command::Record { task: position(task) });
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
    /// None yet: what stands for the last one when a run begins.
    fn ahead(step: i64, source: Source) -> Self {
        let (tasks, next) = (Vec::new(), Vec::new());
        Self { step, source, tasks, open: 0, running: 0, turn: 0, paused: false, next }
    }

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
        let step = self.superstep.step;
        f.debug_struct("Machine").field("phase", &self.phase).field("step", &step).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
