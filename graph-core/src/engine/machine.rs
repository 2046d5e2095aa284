//! The machine: events in, commands out.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::mem::{replace, swap};

use super::breakpoint::{Break, Breakpoints};
use super::command::{Command, Ending};
use super::event::{Begin, Event, Failure, Head, Restored};
use super::phase::{Barrier, Phase, Running};
use super::plan::{Arrivals, Planner};
use super::task::{Entry, PlannedTask, Status, TaskNumber};
use crate::checkpoint::{Cause, Committed, Source};
use crate::graph::{NodeId, Targets, Topology};

/// The state machine that decides which tasks run, in which order their results count, when they are stored, and
/// how to continue if another driver was faster. It is pure: it reads no clock, draws no random numbers, awaits
/// nothing, and accesses neither the state nor the store.
///
/// | phase | event | next phase, and commands |
/// |---|---|---|
/// | Idle | `Begin(Input)` | Barrier |
/// | Idle | `Begin(Resume)` | Running: `Run`, `HandOver` |
/// | Idle | `Begin(Task)` | Running: `Run` or `HandOver` of that task; its end is followed by `Record` and Stopped |
/// | Running | `AttemptFailed` | Running: `Retry`, or `RecordFailure` and `HandOver`; else Stopped: `Fail`, `Abort` |
/// | Running | the last task finished | Barrier; where something was recorded, Settling: `Settle` |
/// | Settling | `Settled` | Barrier; where another driver was faster with a result, Reloading: `Reload` |
/// | Reloading | `Reloaded` | Adopting: `Adopt`; where another run moved the head, Stopped |
/// | Barrier | | Committing: `Commit` |
/// | Committing | `Committed` with `New` or `Already` | Running |
/// | Committing | `Committed` with `Adopt` or `Outrun` | Adopting: `Adopt` |
/// | Committing | `Committed` with `Conflict`, `Unmergeable` | Stopped |
/// | Adopting | `Begin(Resume)` | Running |
///
/// A superstep does not begin, and the run is Stopped, if nothing is next, a limit is reached, a drain was
/// requested, or there is a breakpoint.
///
/// Feed it with [`handle`](Self::handle) and carry out what [`next_command`](Self::next_command) returns, in
/// order, until it returns `None`; then wait for the next event. [`Command::Stop`] is the last command, and no event
/// follows it. An event that is illegal in a phase is a bug of the driver: it panics in debug builds, and does nothing
/// in others.
pub struct Machine {
    topology: Arc<Topology>,
    limits: Limits,
    planner: Planner,
    joins: Arrivals,
    commands: VecDeque<Command>,
    phase: Phase,
    /// The number of user supersteps that may still begin in this run.
    remaining: u64,
    draining: bool,
    /// `true` if only one task is run.
    one_task: bool,
    breakpoints: Option<Box<Pauses>>,
}

/// The requested breakpoints, and the one at which the run stopped.
struct Pauses {
    wanted: Breakpoints,
    hit: Break,
}

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of user supersteps in one run.
    pub recursion: u64,
    /// The maximum number of tasks that run at once.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { recursion: 1_000, concurrency: usize::MAX }
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
            one_task: false,
            breakpoints: None,
        }
    }

    /// Makes the run stop at these breakpoints, except at the barrier at which it begins.
    #[must_use]
    pub fn with_breakpoints(mut self, wanted: Breakpoints) -> Self {
        let some = !wanted.is_empty();
        self.breakpoints = some.then(|| Box::new(Pauses { wanted, hit: Break::default() }));
        self
    }

    /// Returns the next command; `None` until the next event.
    pub fn next_command(&mut self) -> Option<Command> {
        if let Some(command) = self.commands.pop_front() {
            return Some(command);
        }
        if !matches!(self.phase, Phase::Barrier(_)) {
            return None;
        }
        match replace(&mut self.phase, Phase::Committing) {
            Phase::Barrier(barrier) => Some(Command::Commit(barrier)),
            _ => unreachable!("just looked at"),
        }
    }

    /// Handles an event.
    ///
    /// # Panics
    /// Panics in debug builds if the event is illegal in the current phase.
    pub fn handle(&mut self, event: Event) {
        self.phase = match (event, replace(&mut self.phase, Phase::Idle)) {
            (Event::Begin(Begin::Input { last_step }), Phase::Idle) => self.input(last_step),
            (Event::Begin(Begin::Resume(restored)), Phase::Idle) => self.resume(*restored, None),
            (Event::Begin(Begin::Task(restored, task)), Phase::Idle) => self.begin_task(*restored, task),
            (Event::Begin(Begin::Resume(restored)), Phase::Adopting(ours)) => {
                self.resume(*restored, Some(ours))
            }
            (Event::TaskFinished { task, targets }, Phase::Running(superstep)) => {
                self.finished(superstep, task, targets)
            }
            (Event::TaskPaused { task }, Phase::Running(superstep)) => self.paused(superstep, task),
            (Event::AttemptFailed { task, failure }, Phase::Running(superstep)) => {
                self.failed(superstep, task, failure)
            }
            (Event::RoutingFailed { task }, Phase::Running(superstep)) => {
                self.routing_failed(superstep, task)
            }
            (Event::Outrun, Phase::Running(superstep)) => {
                Phase::Running(Running { outrun: true, ..superstep })
            }
            (Event::Superseded, Phase::Running(superstep)) => self.abort(superstep, Ending::Superseded),
            (Event::TimedOut, Phase::Running(superstep)) => self.abort(superstep, Ending::TimedOut),
            (Event::Cancel, Phase::Running(superstep)) => self.abort(superstep, Ending::Cancelled),
            (Event::Outrun, Phase::Settling { barrier, .. }) => Phase::Settling { barrier, outrun: true },
            (Event::Settled, Phase::Settling { barrier, outrun: false }) => self.plan(barrier),
            (Event::Settled, Phase::Settling { barrier, outrun: true }) => {
                self.commands.push_back(Command::Reload);
                Phase::Reloading(barrier)
            }
            (Event::Reloaded(Head::Ours(head)), Phase::Reloading(barrier)) => {
                self.commands.push_back(Command::Adopt(head));
                Phase::Adopting(barrier)
            }
            (Event::Reloaded(Head::Foreign), Phase::Reloading(barrier)) => {
                self.stop(Ending::Superseded, barrier.ran)
            }
            (Event::Committed(barrier, committed), Phase::Committing) => self.committed(barrier, committed),
            (Event::Unmergeable(barrier), Phase::Committing) => self.unmergeable(*barrier),
            (Event::Drain, phase) => {
                self.draining = true;
                phase
            }
            // The superstep's tasks finished in time.
            (Event::TimedOut, phase) => phase,
            (event, phase) => {
                debug_assert!(false, "{event:?} is illegal in the phase {phase:?}");
                phase
            }
        };
    }

    /// Returns a task of the superstep that is running, waiting to be committed, or the last one.
    #[must_use]
    pub fn task(&self, task: TaskNumber) -> Option<&PlannedTask> {
        self.phase.tasks().get(task.index()).map(|entry| &entry.planned)
    }

    /// Returns `true` if a task's error handler is running.
    #[must_use]
    pub fn is_handling(&self, task: TaskNumber) -> bool {
        let entry = self.phase.tasks().get(task.index());
        entry.is_some_and(|entry| matches!(entry.status, Status::Handling(_)))
    }

    /// Returns the number of tasks in that superstep.
    #[must_use]
    pub fn width(&self) -> usize {
        self.phase.tasks().len()
    }

    /// Returns the limits of the run.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns the step of the superstep that is running or waiting to be committed.
    #[must_use]
    pub fn step(&self) -> Option<i64> {
        self.phase.step()
    }

    /// Returns the joins that wait for more of their sources.
    #[must_use]
    pub fn joins(&self) -> &Arrivals {
        &self.joins
    }

    /// Returns the breakpoint at which the run stopped.
    #[must_use]
    pub fn stopped_at(&self) -> Option<&Break> {
        self.breakpoints.as_deref().map(|pauses| &pauses.hit)
    }

    /// Returns the number of user supersteps that may follow the running one.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// An input discards unfinished work, including half-arrived joins, because it belongs to the earlier turn.
    fn input(&mut self, last_step: Option<i64>) -> Phase {
        self.joins = Arrivals::none(&self.topology);
        let mut barrier = Barrier::new(last_step.map_or(-1, |last| last + 1), Source::Input);
        let start = PlannedTask { node: NodeId::START, cause: Cause::Input, input: None };
        barrier.next.push(Entry::waiting(start));
        Phase::Barrier(barrier)
    }

    /// Returns `true` if the run runs one task of a superstep, and does not commit.
    pub(crate) fn runs_one_task(&self) -> bool {
        self.one_task
    }

    /// Begins with one task of stored work.
    fn begin_task(&mut self, restored: Restored, task: TaskNumber) -> Phase {
        self.one_task = true;
        let mut barrier = Barrier::new(restored.step, Source::Loop);
        self.joins = restored.fill(&mut barrier.next);
        for (number, entry) in TaskNumber::all().zip(&mut barrier.next) {
            if number != task {
                entry.status = Status::LeftAlone;
            }
        }
        self.run(barrier, false)
    }

    /// Begins with stored work. `ours` is the superstep that another driver of the run finished first.
    fn resume(&mut self, restored: Restored, ours: Option<Box<Barrier>>) -> Phase {
        let step = restored.step;
        // The checkpoint of this superstep is a barrier like any other. With any other checkpoint, the run begins
        // there.
        let passed = ours.as_ref().is_some_and(|ours| ours.step == step);
        // The same superstep is repeated with results of another driver.
        let again = ours.as_ref().is_some_and(|ours| ours.step == step + 1);
        let mut barrier = ours.unwrap_or_else(|| Barrier::new(step, Source::Loop));
        barrier.step = step;
        self.joins = restored.fill(&mut barrier.next);
        if passed { self.pass(barrier) } else { self.run(barrier, again) }
    }

    /// Begins the superstep after a barrier, unless there is a breakpoint.
    fn pass(&mut self, barrier: Box<Barrier>) -> Phase {
        if self.breaks(&barrier) {
            return self.stop(Ending::Breakpoint, barrier.next);
        }
        self.run(barrier, false)
    }

    /// Begins the superstep of the next tasks, some of which may have finished in an earlier run. A superstep that
    /// begins `again` counts once.
    fn run(&mut self, mut barrier: Box<Barrier>, again: bool) -> Phase {
        let Barrier { step, source, ran, next } = &mut *barrier;
        swap(ran, next);
        next.clear();
        let Some(first) = ran.first().map(|first| first.planned.node).filter(|first| *first != NodeId::END)
        else {
            return self.stop(Ending::Finished, barrier.ran);
        };
        if first != NodeId::START && !again {
            if self.draining {
                return self.stop(Ending::Drained, barrier.ran);
            }
            let Some(remaining) = self.remaining.checked_sub(1) else {
                return self.stop(Ending::LimitReached, barrier.ran);
            };
            self.remaining = remaining;
        }
        *step += 1;
        *source = Source::Loop;
        self.advance(Running::new(barrier))
    }

    /// Starts waiting tasks up to the concurrency limit. When every task has finished, waits for the recorded work
    /// and commits. When all remaining tasks have paused, stops.
    fn advance(&mut self, mut superstep: Running) -> Phase {
        while superstep.active < self.limits.concurrency
            && let Some(entry) = superstep.barrier.ran.get_mut(superstep.turn)
        {
            let task = TaskNumber::at(superstep.turn);
            superstep.turn += 1;
            let (status, command) = match entry.status {
                Status::Waiting => (Status::Running(1), Command::Run { task }),
                Status::Failed => (Status::Handling(1), Command::HandOver { task, attempt: 1 }),
                _ => continue,
            };
            entry.status = status;
            superstep.active += 1;
            self.commands.push_back(command);
        }
        let Running { barrier, open, paused, recorded, outrun, .. } = superstep;
        match (open, paused, recorded) {
            (0, false, _) if self.one_task => self.stop(Ending::TaskRecorded, barrier.ran),
            (0, true, _) => self.stop(Ending::Interrupted, barrier.ran),
            (0, false, true) => {
                self.commands.push_back(Command::Settle);
                Phase::Settling { barrier, outrun }
            }
            (0, false, false) => self.plan(barrier),
            _ => Phase::Running(Running { barrier, ..superstep }),
        }
    }

    fn finished(&mut self, mut superstep: Running, task: TaskNumber, targets: Targets) -> Phase {
        let is_recorded = |superstep: &Running| superstep.open > 0 || superstep.paused || self.one_task;
        if superstep.end(task, Status::Finished(targets)) && is_recorded(&superstep) {
            // The result of the last task of a superstep goes directly into the checkpoint.
            self.commands.push_back(Command::Record { task });
            superstep.recorded = true;
        }
        self.advance(superstep)
    }

    fn paused(&mut self, mut superstep: Running, task: TaskNumber) -> Phase {
        superstep.paused |= superstep.end(task, Status::Paused);
        self.advance(superstep)
    }

    /// Retries a task, runs its node's error handler, or ends the run. An error handler has one attempt, and leaves
    /// the record of the node's failure unchanged.
    fn failed(&mut self, mut superstep: Running, task: TaskNumber, failure: Failure) -> Phase {
        let Some(status) = superstep.under_way(task) else { return Phase::Running(superstep) };
        let (Status::Running(before) | Status::Handling(before)) = *status else { unreachable!("under way") };
        let attempt = before + 1;
        match (failure, &status) {
            (Failure::Retry { after }, Status::Running(_)) => {
                *status = Status::Running(attempt);
                self.commands.push_back(Command::Retry { task, attempt, after });
                return Phase::Running(superstep);
            }
            (Failure::NoneLeft { has_handler }, Status::Running(_)) => {
                self.commands.push_back(Command::RecordFailure { task });
                if has_handler {
                    *status = Status::Handling(attempt);
                    superstep.recorded = true;
                    self.commands.push_back(Command::HandOver { task, attempt });
                    return Phase::Running(superstep);
                }
            }
            _ => {}
        }
        self.fail(superstep, task)
    }

    /// Handles a routing failure: like a failure, except that the node's result is kept.
    fn routing_failed(&mut self, superstep: Running, task: TaskNumber) -> Phase {
        self.commands.push_back(Command::Record { task });
        self.fail(superstep, task)
    }

    fn fail(&mut self, mut superstep: Running, task: TaskNumber) -> Phase {
        superstep.end(task, Status::Ended);
        self.commands.push_back(Command::Fail { task });
        self.abort(superstep, Ending::Failed { task })
    }

    fn plan(&mut self, mut barrier: Box<Barrier>) -> Phase {
        let Barrier { ran, next, .. } = &mut *barrier;
        self.planner.plan(&self.topology, ran, &mut self.joins, next);
        Phase::Barrier(barrier)
    }

    fn committed(&mut self, barrier: Box<Barrier>, committed: Committed) -> Phase {
        match committed {
            Committed::New | Committed::Already => self.pass(barrier),
            Committed::Adopt(head) | Committed::Outrun(head) => {
                self.commands.push_back(Command::Adopt(head));
                Phase::Adopting(barrier)
            }
            Committed::Conflict { .. } => self.stop(Ending::Superseded, barrier.ran),
        }
    }

    /// Checks for a breakpoint between the tasks that ran and the next ones. If nothing is next, the run does not
    /// stop.
    fn breaks(&mut self, barrier: &Barrier) -> bool {
        let Some(pauses) = self.breakpoints.as_deref_mut().filter(|_| !barrier.next.is_empty()) else {
            return false;
        };
        let hit = pauses.wanted.between(barrier.ran(), barrier.next().map(|task| task.node));
        let is_hit = hit.is_some();
        pauses.hit = hit.unwrap_or_default();
        is_hit
    }

    /// Handles writes that cannot be merged. The superstep is not stored, but the results of its tasks are kept, so
    /// that they need not run again after the cause is fixed.
    fn unmergeable(&mut self, barrier: Barrier) -> Phase {
        let records = (0..barrier.ran.len()).map(|task| Command::Record { task: TaskNumber::at(task) });
        self.commands.extend(records);
        self.stop(Ending::Unmergeable, barrier.ran)
    }

    fn abort(&mut self, superstep: Running, ending: Ending) -> Phase {
        // Tasks that were about to start do not start, but finished ones are still recorded.
        let starts = |command: &Command| {
            matches!(command, Command::Run { .. } | Command::Retry { .. } | Command::HandOver { .. })
        };
        self.commands.retain(|command| !starts(command));
        self.commands.push_back(Command::Abort);
        self.stop(ending, superstep.barrier.ran)
    }

    fn stop(&mut self, ending: Ending, tasks: Vec<Entry>) -> Phase {
        self.commands.push_back(Command::Stop(ending));
        Phase::Stopped(tasks)
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("phase", &self.phase).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
