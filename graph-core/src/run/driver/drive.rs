//! The driver: carries out the machine's commands. The one loop behind run, resume, answer and fork.

use std::boxed::Box;
use std::future::pending;
use std::mem::take;
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use super::attempt::Attempt;
use super::basis::{Basis, Copies};
use super::current_state::CurrentState;
use super::edit::Played;
use super::idempotency::GivenInput;
use super::order::{Ended, Stops};
use super::recorder::Recorder;
use super::slot::Slot;
use super::spans::Span;
use super::step_clock::StepClock;
use super::subgraph::delta::Delta;
use super::tasks::{Running, Tasks};
use crate::checkpoint::{At, Loaded, Recorded, StoreError};
use crate::engine::{Begin, Command, Event, Head, Machine, TaskNumber};
use crate::graph::NodeId;
use crate::id::CheckpointId;
use crate::node::{Done, ErasedTask, RunCell, TaskCell, TaskFacts};
use crate::run::runtime::error::{RunError, ThreadError};
use crate::run::runtime::event::{EventKind, EventLog};
use crate::run::runtime::field_map::FieldMap;
use crate::run::runtime::shared::Runtime;
use crate::state::{ErasedState, FieldId};

/// Something on its way to the saver, and whether it is what counts.
type Recording = BoxFuture<'static, Result<bool, StoreError>>;

/// Drives one run.
pub(crate) struct Driver {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) machine: Machine,
    pub(crate) cell: Arc<RunCell>,
    pub(crate) log: Option<Arc<EventLog>>,
    /// Keeps what nodes emit, where that is stored.
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) stops: Stops,
    clock: Option<Box<StepClock>>,
    pub(crate) base: Base,
    pub(crate) superstep: Superstep,
    /// The input, until START has merged it. Its logged form is empty without a saver or an observer.
    pub(crate) input: Option<Done>,
    /// Which input the run was given; `None` for one that was given none, and for a subgraph's.
    pub(crate) given: Option<GivenInput>,
    pub(crate) tasks: Tasks,
    /// Results and failures on their way to the saver.
    pub(crate) records: FuturesUnordered<Recording>,
    /// The writes that this run returns to the graph around it, if it is a subgraph's.
    pub(crate) delta: Option<Delta>,
    /// Set where nothing runs: the superstep's outcomes are given by an edit.
    pub(crate) played: Option<Box<Played>>,
    /// Why the superstep could not be merged.
    pub(crate) unmergeable: Option<RunError>,
}

/// The last barrier, which the running superstep stands on.
pub(crate) struct Base {
    /// Its checkpoint; `None` without a saver, and before the first.
    pub(crate) checkpoint: Option<CheckpointId>,
    pub(crate) step: i64,
    pub(crate) state: CurrentState,
    /// Fields that live for one superstep and are set: the next barrier resets them.
    pub(crate) ephemeral: Vec<FieldId>,
    /// Set when the checkpoint was written under another schema: the next one must hold every field, and results on
    /// top of this one are stored as its schema has them.
    pub(crate) older: Option<FieldMap>,
}

/// The running superstep.
pub(crate) struct Superstep {
    /// Its tasks.
    pub(crate) slots: Vec<Slot>,
    /// The results that were recorded when the checkpoint was read, and those that this driver has added.
    pub(crate) recorded: Recorded,
    /// The state that its branches decide on, where several tasks have some.
    copies: Option<Arc<Copies>>,
    /// A cell of the last superstep, to be used again.
    spare: Option<Arc<TaskCell>>,
    span: Span,
}

impl Superstep {
    /// Everything that this driver knows to be recorded of it.
    pub(crate) fn known(&self) -> Recorded {
        let mut all = self.recorded;
        let cells = self.slots.iter().filter_map(|slot| slot.cell.as_ref());
        cells.for_each(|cell| all.add(cell.recorded()));
        all
    }
}

impl Index<TaskNumber> for Superstep {
    type Output = Slot;

    fn index(&self, task: TaskNumber) -> &Slot {
        &self.slots[task.index()]
    }
}

impl IndexMut<TaskNumber> for Superstep {
    fn index_mut(&mut self, task: TaskNumber) -> &mut Slot {
        &mut self.slots[task.index()]
    }
}

impl Driver {
    pub(crate) fn new(
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
            recorder: None,
            clock: stops.step_timeout.map(StepClock::new),
            stops,
            base: Base {
                checkpoint: None,
                step: -1,
                state: CurrentState::new(state),
                ephemeral: Vec::new(),
                older: None,
            },
            superstep: Superstep {
                slots: Vec::new(),
                recorded: Recorded::default(),
                copies: None,
                spare: None,
                span: Span::none(),
            },
            input: None,
            given: None,
            tasks,
            records: FuturesUnordered::new(),
            delta: None,
            played: None,
            unmergeable: None,
        }
    }

    /// Runs until the machine stops.
    pub(crate) async fn drive(mut self: Box<Self>, begin: Begin) -> Result<Ended, RunError> {
        let resumes = matches!(begin, Begin::Resume(_));
        self.emit(|driver| EventKind::RunStarted {
            graph: driver.runtime.program.topology.name.clone(),
            thread: driver.cell.thread.clone(),
            resumes: driver.base.checkpoint.filter(|_| resumes),
        });
        if resumes {
            self.values();
        }
        let result = match self.run(begin).await {
            Err(RunError::Superseded { thread, .. }) => {
                let (runtime, given) = (Arc::clone(&self.runtime), self.given.take());
                Err(Box::pin(runtime.superseded(thread, given, self.base.step)).await)
            }
            result => result,
        };
        // A store that fails ends the run while tasks are under way.
        self.cell.revoke();
        drop(self.tasks.abort(&self.base.state).await);
        match &result {
            Ok(ended) => self.emit(|_| EventKind::RunFinished { status: ended.status.clone() }),
            Err(error) => self.emit(|_| EventKind::RunFailed { message: std::format!("{error}") }),
        }
        result
    }

    /// Carries out the machine's commands until it stops.
    async fn run(&mut self, begin: Begin) -> Result<Ended, RunError> {
        self.machine.handle(Event::Begin(begin));
        self.superstep_begins();
        loop {
            while let Some(command) = self.machine.next_command() {
                match command {
                    Command::Run { task } => self.start(task, 1, Duration::ZERO),
                    Command::Retry { task, attempt, after } => self.retry(task, attempt, after),
                    Command::HandOver { task, attempt } => self.hand_over(task, attempt),
                    Command::RecordFailure { task } => self.record_failure(task),
                    Command::Fail { task } => self.fail(task),
                    Command::Record { task } => self.record(task),
                    Command::Settle => self.settle().await?,
                    Command::Commit(barrier) => self.commit(barrier).await?,
                    // These hold a checkpoint, and few runs need them.
                    Command::Reload => Box::pin(self.reload()).await?,
                    Command::Adopt(head) => Box::pin(self.adopt(*head)).await?,
                    Command::Abort => self.abort().await,
                    Command::Stop(ending) => return self.stopped(ending).await,
                }
            }
            let event = if self.stops.cancel.is_none() && self.clock.is_none() && self.records.is_empty() {
                let ended = self.tasks.next(&mut self.base.state).await;
                self.ended(ended)
            } else {
                self.next_event().await?
            };
            self.machine.handle(event);
        }
    }

    /// Returns `true` if the logged form of writes is used.
    pub(crate) fn logs(&self) -> bool {
        self.cell.saver.is_some() || self.log.is_some() || self.delta.is_some()
    }

    /// Prepares for the superstep behind a barrier.
    pub(crate) async fn next_superstep(&mut self) {
        let Superstep { slots, recorded, spare, .. } = &mut self.superstep;
        *spare = slots.first_mut().and_then(|slot| slot.cell.take());
        slots.clear();
        slots.resize_with(self.machine.width(), Slot::default);
        *recorded = Recorded::default();
        self.superstep_begins();
        // A run of nodes that never wait must not starve its neighbours.
        tokio::task::coop::consume_budget().await;
    }

    /// Reads the thread's head for the machine.
    async fn reload(&mut self) -> Result<(), RunError> {
        let thread = &self.cell.thread;
        let head = self.runtime.load(thread, At::Head).await?;
        let head = head.ok_or_else(|| ThreadError::NeverRan(thread.clone()))?;
        let ours = self.base.checkpoint == Some(head.checkpoint.id) || head.checkpoint.run == self.cell.run;
        let head = if ours { Head::Ours(Box::new(head)) } else { Head::Foreign };
        self.machine.handle(Event::Reloaded(head));
        Ok(())
    }

    /// Continues from a checkpoint that another driver of this run wrote, or with results that it recorded.
    async fn adopt(&mut self, loaded: Loaded) -> Result<(), RunError> {
        // What this driver has merged and not stored does not count, and the other one may be several supersteps ahead.
        if let (Some(delta), Some(saver)) = (&mut self.delta, &self.cell.saver)
            && self.base.checkpoint != Some(loaded.checkpoint.id)
        {
            delta.read_anew(&**saver, &self.cell.thread, &loaded, &self.runtime.program).await?;
        }
        let begin = self.restore(loaded)?;
        self.machine.handle(Event::Begin(begin));
        self.superstep_begins();
        Ok(())
    }

    fn superstep_begins(&mut self) {
        self.superstep.copies = None;
        if let Some(clock) = &mut self.clock {
            clock.restart();
        }
        // An input is committed before anything runs.
        if let Some(step) = self.machine.step().filter(|_| self.machine.width() > 0) {
            self.superstep.span = Span::superstep(step, self.machine.width());
        }
        self.superstep_started();
        self.keep_secrets_off_tape();
    }

    /// Has the values of secret fields left out of what is recorded of the run, and of what is looked for in a recording.
    fn keep_secrets_off_tape(&self) {
        let Some(deck) = &self.cell.deck else { return };
        let schema = &self.runtime.program.schema;
        for field in schema.ids().filter(|field| schema.field(*field).secret) {
            if let Ok(value) = self.base.state.encode_field(field) {
                deck.learn_secret(&value);
            }
        }
    }

    pub(crate) fn start(&mut self, task: TaskNumber, attempt: u32, after: Duration) {
        let planned = self.machine.task(task).expect("the machine runs tasks that it planned");
        let (node, input, each) = (planned.node, planned.input.clone(), planned.cause.each());
        let program = &self.runtime.program;
        let slot = &mut self.superstep.slots[task.index()];
        let cell = match slot.cell.take() {
            Some(cell) => {
                cell.restart(attempt);
                cell
            }
            None => {
                let policy = &program.node(node).policy;
                let facts = TaskFacts {
                    base: self.base.checkpoint,
                    task: task.get(),
                    node: node.index(),
                    step: self.base.step + 1,
                    each,
                    remaining_steps: self.machine.remaining(),
                    attempts: policy.attempts(),
                    on_unknown: policy.on_unknown,
                    on_mismatch: policy.on_mismatch,
                    is_resumed: slot.rare.is_some(),
                    has_pulse: policy.idle_timeout.is_some(),
                };
                let known = slot.rare.as_mut().map(|rare| (take(&mut rare.asks), take(&mut rare.effects)));
                let mut spare = self.superstep.spare.take();
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
        let finished = slot.output.take();
        let basis = self.basis(node);
        let run = if node == NodeId::START {
            let input = self.input.take().expect("a run that starts has an input");
            Attempt::route(node, basis, input)
        } else if let Some(output) = finished {
            Attempt::route(node, basis, output)
        } else {
            let task = ErasedTask { state: self.base.state.share(), input, cell: Arc::clone(&cell) };
            Attempt::run(&self.runtime.program, node, task, basis, self.logs(), after)
        };
        self.emit(|driver| EventKind::TaskStarted {
            step: driver.base.step + 1,
            task: task.get(),
            node: driver.runtime.program.topology.node_name(node).clone(),
            attempt,
        });
        let span = self.superstep.span.task(cell.node(), cell.facts.step, task.get(), attempt);
        self.tasks.start(Running { task, attempt, cell: Some(cell), run, span });
    }

    /// The state that the branches of a node decide on.
    fn basis(&mut self, node: NodeId) -> Basis {
        if self.runtime.program.node(node).branches.is_empty() {
            Basis::Nothing
        } else if self.machine.width() == 1 {
            Basis::Current
        } else {
            let copies = Arc::clone(self.superstep.copies.get_or_insert_default());
            Basis::Shared { snapshot: self.base.state.share(), copies }
        }
    }

    /// Waits until a task ends, the caller cancels, the superstep's time is up, or the saver has another driver's
    /// result.
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
                    if !counts? {
                        return Ok(Event::Outrun);
                    }
                }
                ended = self.tasks.next(&mut self.base.state) => return Ok(self.ended(ended)),
            }
        }
    }
}

impl Drop for Driver {
    /// A run that is dropped is cancelled: its tasks are aborted, and what they left behind starts no effect.
    fn drop(&mut self) {
        self.cell.revoke();
    }
}
