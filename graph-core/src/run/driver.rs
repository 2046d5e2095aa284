//! The driver: carries out the machine's commands. The one loop behind run, resume, answer and fork.

use std::boxed::Box;
use std::future::pending;
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use super::attempt::{Attempt, End, Output, Record};
use super::error::RunError;
use super::event::{EventKind, EventLog};
use super::field_map::FieldMap;
use super::graph::Runtime;
use super::outcome::{Interrupt, Status};
use super::play::Played;
use super::request::Stops;
use super::results::Recording;
use super::spans::Span;
use super::step_clock::StepClock;
use super::subgraph::{Delta, Surroundings};
use super::tasks::{Attempted, Running, Tasks};
use crate::checkpoint::{AskRecord, EffectRecord, FailureRecord, Loaded, TargetRecord};
use crate::engine::{Begin, Command, Ending, Event, Machine};
use crate::error::NodeError;
use crate::graph::NodeId;
use crate::id::{CheckpointId, NodeName, RunId};
use crate::node::{ErasedTask, Item, RunCell, TaskCell, TaskFacts};
use crate::state::{ErasedState, ErasedUpdate, FieldId, LoggedWrite};

/// Drives one run.
pub(super) struct Driver {
    pub(super) runtime: Arc<Runtime>,
    pub(super) machine: Machine,
    pub(super) cell: Arc<RunCell>,
    pub(super) log: Option<Arc<EventLog>>,
    stops: Stops,
    clock: Option<Box<StepClock>>,
    /// The running superstep's.
    span: Span,
    /// The state as of the last barrier.
    pub(super) state: Arc<dyn ErasedState>,
    /// Fields that live for one superstep and were written in the last one.
    pub(super) lit: Vec<FieldId>,
    /// Set when the last checkpoint was written under another schema: the next one must hold every field, and
    /// results on top of the last one are stored as its schema has them.
    pub(super) older: Option<FieldMap>,
    /// The checkpoint that the running superstep stands on; `None` without a saver, and before the first.
    pub(super) base: Option<CheckpointId>,
    pub(super) step: i64,
    /// The input, until START has merged it.
    pub(super) input: Option<Input>,
    /// The running superstep's tasks.
    pub(super) slots: Vec<Slot>,
    /// A cell of the last superstep, to be used again.
    spare: Option<Arc<TaskCell>>,
    tasks: Tasks,
    /// Results and failures on their way to the saver.
    pub(super) records: FuturesUnordered<Recording>,
    /// Whether another driver recorded a result of the running superstep before this one did.
    pub(super) outrun: bool,
    /// What this run, a subgraph's, gives back of its writes.
    pub(super) delta: Option<Delta>,
    /// Set where nothing runs: the superstep's outcomes are given by an edit.
    pub(super) played: Option<Box<Played>>,
    /// Why the superstep could not be merged.
    pub(super) unmergeable: Option<RunError>,
}

/// The input of a run.
pub(super) struct Input {
    pub(super) update: Box<dyn ErasedUpdate>,
    /// Its logged form; empty without a saver or an observer.
    pub(super) writes: Vec<LoggedWrite>,
}

/// One task of the running superstep, as the driver sees it.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) cell: Option<Arc<TaskCell>>,
    pub(super) output: Option<Output>,
    /// Its targets as they are recorded; `None` while it has none.
    pub(super) targets: Option<Vec<TargetRecord>>,
    rare: Option<Box<Rare>>,
}

/// What few tasks have, kept out of the way of the many.
#[derive(Default)]
pub(super) struct Rare {
    /// What storage knows of its questions and effects.
    pub(super) asks: Vec<AskRecord>,
    pub(super) effects: Vec<EffectRecord>,
    /// The questions that it waits for.
    pub(super) open: Vec<AskRecord>,
    /// Why it failed, and in which attempt.
    pub(super) error: Option<(NodeError, u32)>,
    /// What the node failed with, once its error handler has the task.
    pub(super) failure: Option<Arc<FailureRecord>>,
}

impl Slot {
    /// What the task wrote, in its logged form.
    pub(super) fn writes(&self) -> &[LoggedWrite] {
        self.output.as_ref().map_or(&[], |output| &output.record().writes)
    }

    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}

/// How a run ended, as the machine and the driver see it.
pub(super) struct Ended {
    pub(super) run: RunId,
    pub(super) checkpoint: Option<CheckpointId>,
    pub(super) step: i64,
    pub(super) status: Status,
    pub(super) state: Arc<dyn ErasedState>,
    /// The decision with which a subgraph was left.
    pub(super) exit: Option<Item>,
    /// The writes that a subgraph gives back.
    pub(super) delta: Vec<LoggedWrite>,
}

/// What became of a barrier.
pub(super) enum AtBarrier {
    Passed,
    Superseded,
    /// Another driver of this run was faster; go on from here.
    Adopted(Box<Loaded>),
}

impl Driver {
    pub(super) fn new(
        runtime: Arc<Runtime>,
        cell: Arc<RunCell>,
        log: Option<Arc<EventLog>>,
        stops: Stops,
        machine: Machine,
        state: Arc<dyn ErasedState>,
    ) -> Self {
        let tasks = Tasks::new(Arc::clone(&runtime.program));
        Self {
            runtime,
            machine,
            cell,
            log,
            clock: stops.step_timeout.map(StepClock::new),
            span: Span::none(),
            stops,
            state,
            lit: Vec::new(),
            older: None,
            base: None,
            step: -1,
            input: None,
            slots: Vec::new(),
            spare: None,
            tasks,
            records: FuturesUnordered::new(),
            outrun: false,
            delta: None,
            played: None,
            unmergeable: None,
        }
    }

    /// Runs until the machine stops.
    pub(super) async fn drive(mut self, begin: Begin) -> Result<Ended, RunError> {
        let resumes = matches!(begin, Begin::Resume(_));
        self.emit(|driver| EventKind::RunStarted {
            graph: driver.runtime.program.topology.name.clone(),
            thread: driver.cell.thread.clone(),
            resumes: driver.base.filter(|_| resumes),
        });
        if resumes {
            self.values();
        }
        let result = self.run(begin).await;
        // A store that fails ends the run while tasks are under way.
        self.cell.revoke();
        drop(self.tasks.abort().await);
        match &result {
            Ok(ended) => self.emit(|_| EventKind::RunFinished { status: ended.status.clone() }),
            Err(error) => self.emit(|_| EventKind::RunFailed { message: std::format!("{error}") }),
        }
        result
    }

    async fn run(&mut self, begin: Begin) -> Result<Ended, RunError> {
        self.machine.handle(Event::Begin(begin));
        self.superstep_begins();
        loop {
            while let Some(command) = self.machine.next_command() {
                match command {
                    Command::Run { task, attempt, after } => self.start(task, attempt, after),
                    Command::Record { task } => self.record(task),
                    Command::Abort => self.abort().await,
                    Command::Stop(ending) => return self.stopped(ending).await,
                    Command::Commit => self.pass_barrier().await?,
                }
            }
            let event = if self.stops.cancel.is_none() && self.clock.is_none() && self.records.is_empty() {
                let ended = self.tasks.next().await;
                self.ended(ended)
            } else {
                self.next_event().await?
            };
            self.machine.handle(event);
        }
    }

    /// Whether the logged form of what is written is of use to anybody.
    pub(super) fn logs(&self) -> bool {
        self.cell.saver.is_some() || self.log.is_some() || self.delta.is_some()
    }

    pub(super) async fn pass_barrier(&mut self) -> Result<(), RunError> {
        if (self.outrun || !self.records.is_empty())
            && let Some(loaded) = self.settle_records().await?
        {
            let ours = self.base == Some(loaded.checkpoint.id) || loaded.checkpoint.run == self.cell.run;
            if !ours {
                self.machine.handle(Event::Superseded);
                return Ok(());
            }
            return self.adopt(*loaded);
        }
        let passed = match self.merge_superstep() {
            Ok(None) => {
                self.values_after_barrier();
                AtBarrier::Passed
            }
            Ok(Some(checkpoint)) => self.store(checkpoint).await?,
            Err(error) => {
                self.unmergeable = Some(error);
                self.machine.handle(Event::Unmergeable);
                return Ok(());
            }
        };
        match passed {
            AtBarrier::Passed => {
                if self.stops.drain.as_ref().is_some_and(CancellationToken::is_cancelled) {
                    self.machine.handle(Event::Drain);
                }
                self.machine.handle(Event::Committed);
                self.spare = self.slots.first_mut().and_then(|slot| slot.cell.take());
                self.slots.clear();
                self.slots.resize_with(self.machine.width(), Slot::default);
                self.superstep_begins();
                // A run of nodes that never wait must not starve its neighbours.
                tokio::task::coop::consume_budget().await;
                Ok(())
            }
            AtBarrier::Superseded => {
                self.machine.handle(Event::Superseded);
                Ok(())
            }
            AtBarrier::Adopted(loaded) => self.adopt(*loaded),
        }
    }

    /// Goes on from a checkpoint that another driver of this run wrote, or from results that it recorded.
    fn adopt(&mut self, loaded: Loaded) -> Result<(), RunError> {
        if let Some(delta) = &mut self.delta
            && self.base != Some(loaded.checkpoint.id)
        {
            delta.add_checkpoint(&loaded, &self.runtime.program.schema);
        }
        let begin = self.restore(loaded)?;
        self.machine.handle(Event::Begin(begin));
        self.superstep_begins();
        Ok(())
    }

    fn superstep_begins(&mut self) {
        if let Some(clock) = &mut self.clock {
            clock.restart();
        }
        // An input is committed before anything runs.
        if let Some(step) = self.machine.step().filter(|_| self.machine.width() > 0) {
            self.span = Span::superstep(step, self.machine.width());
        }
        self.superstep_started();
    }

    fn start(&mut self, task: u32, attempt: u32, after: Duration) {
        let planned = self.machine.task(task).expect("the machine runs tasks that it planned");
        let (node, input, each) = (planned.node, planned.input.clone(), planned.cause.each());
        let program = &self.runtime.program;
        let slot = &mut self.slots[task as usize];
        let cell = match slot.cell.take() {
            Some(cell) => {
                cell.restart(attempt);
                cell
            }
            None => {
                let policy = &program.node(node).policy;
                let facts = TaskFacts {
                    base: self.base,
                    task,
                    node: node.index(),
                    step: self.step + 1,
                    each,
                    remaining_steps: self.machine.remaining(),
                    on_unknown: policy.on_unknown,
                    on_mismatch: policy.on_mismatch,
                    is_resumed: slot.rare.is_some(),
                    has_pulse: policy.idle_timeout.is_some(),
                };
                let known = slot.rare.as_mut().map(|rare| (take(&mut rare.asks), take(&mut rare.effects)));
                let mut spare = self.spare.take();
                match spare.as_mut().and_then(Arc::get_mut) {
                    // Nothing of the task it was made for is left that could mistake it for its own.
                    Some(cell) => cell.renew(facts, known),
                    None => spare = Some(Arc::new(TaskCell::new(Arc::clone(&self.cell), facts, known))),
                }
                spare.expect("renewed or made")
            }
        };
        if let Some(failure) = slot.rare.as_ref().and_then(|rare| rare.failure.clone()) {
            cell.hand_over(failure);
        }
        let state = Arc::clone(&self.state);
        let run = if node == NodeId::START {
            let Input { update, writes } = self.input.take().expect("a run that starts has an input");
            Attempt::route(node, state, Output::stored(update, Record { writes, ..Record::default() }))
        } else if let Some(output) = slot.output.take() {
            Attempt::route(node, state, output)
        } else {
            let task = ErasedTask { state, input, cell: Arc::clone(&cell) };
            Attempt::run(program, node, task, self.logs(), after)
        };
        self.emit(|driver| EventKind::TaskStarted {
            step: driver.step + 1,
            task,
            node: driver.runtime.program.topology.node_name(node).clone(),
            attempt,
        });
        let span = self.span.task(cell.node(), cell.facts.step, task, attempt);
        self.tasks.start(Running { task, attempt, cell: Some(cell), run, span });
    }

    /// Waits until a task ends, the caller cancels or the superstep's time is up, and takes in what the saver says of results meanwhile.
    async fn next_event(&mut self) -> Result<Event, RunError> {
        loop {
            let cancelled = async {
                match &self.stops.cancel {
                    Some(cancel) => cancel.cancelled().await,
                    None => pending().await,
                }
            };
            let late = async {
                match &mut self.clock {
                    Some(clock) => clock.run_out().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = late => return Ok(Event::TimedOut),
                () = cancelled => return Ok(Event::Cancel),
                Some(counts) = self.records.next(), if !self.records.is_empty() => {
                    // What that means is looked at once, at the barrier.
                    self.outrun |= !counts?;
                }
                ended = self.tasks.next() => return Ok(self.ended(ended)),
            }
        }
    }

    /// Cancels what still runs, and waits until it has stopped. What came to its end before it could be
    /// cancelled counts: results are recorded, questions are asked.
    async fn abort(&mut self) {
        self.cell.revoke();
        for Attempted { task, cell, end, .. } in self.tasks.abort().await {
            self.slots[task as usize].cell = Some(cell);
            match end {
                End::Finished { output, targets } => self.keep(task, output, targets.ok()),
                End::Paused(asks) => self.slots[task as usize].rare().open = asks,
                // The first failure is the caller's.
                End::Failed(_) => {}
            }
        }
    }

    /// The nodes of the tasks that have neither finished nor asked, in merge order.
    fn unfinished(&self) -> Vec<NodeName> {
        let asks = |slot: &Slot| slot.rare.as_ref().is_some_and(|rare| !rare.open.is_empty());
        let open = (0u32..).zip(&self.slots).filter(|(_, slot)| slot.output.is_none() && !asks(slot));
        open.map(|(task, _)| self.place(task).0).collect()
    }

    async fn stopped(&mut self, ending: Ending) -> Result<Ended, RunError> {
        // Results of another driver count as much as ours here: both are of finished tasks.
        while let Some(counts) = self.records.next().await {
            counts?;
        }
        let unfinished = if ending == Ending::TimedOut { self.unfinished() } else { Vec::new() };
        let open: Vec<AskRecord> = self
            .slots
            .iter_mut()
            .filter_map(|slot| slot.rare.as_mut())
            .flat_map(|rare| take(&mut rare.open))
            .collect();
        let interrupts: Vec<Interrupt> = self.runtime.program.open_questions(&open);
        if let Some(saver) = self.cell.saver.clone()
            && let Some(base) = self.base
            && ending != Ending::Superseded
        {
            if !open.is_empty() {
                saver.ask(&self.cell.thread, base, open).await?;
            }
            saver.flush(&self.cell.thread).await?;
        }
        let status = match ending {
            Ending::Finished => {
                self.unfinished_joins();
                Status::Finished
            }
            // Nobody asks: a subgraph stopped.
            Ending::Interrupted if interrupts.is_empty() => {
                let stopped = Surroundings::of(&self.cell).stopped.lock().take();
                stopped.expect("a task that pauses asks, or says why its subgraph stopped")
            }
            Ending::Interrupted => {
                self.emit(|_| EventKind::Interrupted { interrupts: interrupts.clone() });
                Status::Interrupted { interrupts }
            }
            Ending::Breakpoint => self.stopped_at_breakpoint(),
            Ending::LimitReached => Status::LimitReached { limit: self.machine.limits().recursion },
            Ending::Cancelled => Status::Cancelled,
            Ending::Drained => Status::Drained,
            Ending::Superseded => {
                return Err(RunError::Superseded { thread: self.cell.thread.clone() });
            }
            Ending::TimedOut => {
                let timeout =
                    self.stops.step_timeout.expect("only a superstep with a timeout takes too long");
                return Err(RunError::StepTimedOut { step: self.step + 1, timeout, unfinished });
            }
            Ending::Failed { task } => return Err(self.failure(task).into()),
            Ending::Unmergeable => return Err(self.unmergeable.take().expect("the barrier left its error")),
        };
        let state = Arc::clone(&self.state);
        let delta = self.delta.take().map(|delta| delta.writes).unwrap_or_default();
        let exit = self.machine.task(0).filter(|task| task.node == NodeId::END);
        let exit = exit.and_then(|task| task.input.clone());
        Ok(Ended { run: self.cell.run, checkpoint: self.base, step: self.step, status, state, exit, delta })
    }
}

impl Drop for Driver {
    /// A run that is dropped is cancelled: its tasks are aborted, and what they left behind starts no effect.
    fn drop(&mut self) {
        self.cell.revoke();
    }
}
