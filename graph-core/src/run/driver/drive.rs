//! The driver, which carries out the machine's commands. It is the one loop of run, resume, answer and fork.

use std::boxed::Box;
use std::cell::RefCell;
use std::future::pending;
use std::mem::{replace, take};
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use super::attempt::Attempt;
use super::basis::{Basis, Copies, Shared};
use super::edit::AsNodes;
use super::idempotency::GivenInput;
use super::order::{Ended, Stops};
use super::recorder::Recorder;
use super::slot::Slot;
use super::spans::Span;
use super::step_clock::StepClock;
use super::subgraph::delta::Delta;
use super::tasks::{Running, Tasks};
use crate::checkpoint::{At, Checkpoint, Commit, Loaded, Recorded, StoreError};
use crate::engine::{Begin, Command, Event, Head, Machine, TaskNumber};
use crate::graph::NodeId;
use crate::id::CheckpointId;
use crate::node::{Done, ErasedTask, RunCell, TaskCell, TaskFacts};
use crate::run::runtime::current_state::CurrentState;
use crate::run::runtime::error::RunError;
use crate::run::runtime::event::{EventKind, EventLog};
use crate::run::runtime::field_map::FieldMap;
use crate::run::runtime::heads::KeptHead;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::run::runtime::thread_head::ThreadHead;
use crate::state::{ErasedState, FieldId};

/// A record that is being stored. Its result is `true` if the record counts.
type Recording = BoxFuture<'static, Result<bool, StoreError>>;

/// Drives one run.
pub(crate) struct Driver {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) machine: Machine,
    pub(crate) cell: Arc<RunCell>,
    pub(crate) log: Option<Arc<EventLog>>,
    /// Stores the events that nodes emit, if they are kept.
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) stops: Stops,
    clock: Option<Box<StepClock>>,
    pub(crate) base: Base,
    pub(crate) superstep: Superstep,
    /// The input, until START has merged it. Its logged form is empty without a saver or an observer.
    pub(crate) input: Option<Done>,
    /// The input that the run was given; `None` for a run without one, and for a subgraph's run.
    pub(crate) given: Option<GivenInput>,
    pub(crate) tasks: Tasks,
    /// Results and failures that are being stored.
    pub(crate) records: FuturesUnordered<Recording>,
    /// The writes that this run returns to the surrounding graph, if it is a subgraph's run.
    pub(crate) delta: Option<Delta>,
    /// The given outcomes of a superstep in an edit, in which no node runs.
    pub(crate) as_nodes: Option<Box<AsNodes>>,
    /// The reason why the superstep could not be merged.
    pub(crate) unmergeable: Option<RunError>,
    /// The commit of the run's input, which waits to be stored together with START's.
    pub(crate) waiting_input: Option<Box<Commit>>,
    /// The events since then, which are emitted when the input is stored.
    pub(crate) untold: RefCell<Vec<EventKind>>,
    /// `true` if the thread was not read, because only another driver of the run can have begun it.
    pub(crate) is_unread: bool,
    /// `true` if the thread's head is left in memory for the next run.
    pub(crate) keeps_head: bool,
}

/// The last barrier, on which the running superstep is based.
pub(crate) struct Base {
    /// The checkpoint; `None` without a saver, and before the first one. That of an input may still
    /// [wait](Driver::waiting_input) to be stored.
    pub(crate) checkpoint: Option<CheckpointId>,
    /// The last checkpoint that was read or stored.
    pub(crate) stored: Option<Arc<Checkpoint>>,
    /// `true` if that was stored as the [last](Commit::is_last) one.
    pub(crate) is_last: bool,
    pub(crate) step: i64,
    pub(crate) state: CurrentState,
    /// The fields that live for one superstep and are set. The next barrier resets them.
    pub(crate) ephemeral: Vec<FieldId>,
    /// The map between the schemas, if the checkpoint was written under another schema. The next checkpoint must
    /// then contain every field, and results on top of this one are stored in its schema.
    pub(crate) older: Option<FieldMap>,
}

/// The running superstep.
pub(crate) struct Superstep {
    /// Its tasks.
    pub(crate) slots: Vec<Slot>,
    /// The results that were recorded when the checkpoint was read, and those that this driver has added.
    pub(crate) recorded: Recorded,
    /// The state on which branches decide, if several tasks have branches.
    copies: Option<Arc<Copies>>,
    /// A cell of the last superstep, for reuse.
    spare: Option<Arc<TaskCell>>,
    span: Span,
}

impl Superstep {
    /// Returns all records of this superstep that the driver knows.
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
                stored: None,
                is_last: false,
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
            as_nodes: None,
            unmergeable: None,
            waiting_input: None,
            untold: RefCell::default(),
            is_unread: false,
            keeps_head: false,
        }
    }

    /// Runs until the machine stops.
    pub(crate) async fn drive(mut self: Box<Self>, begin: Begin) -> Result<Ended, RunError> {
        let resumes = matches!(begin, Begin::Resume(_) | Begin::Task(..));
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
        self.waiting_input = None;
        // If the store fails, the run ends while tasks are still running.
        self.cell.revoke();
        drop(self.tasks.abort(&self.base.state).await);
        match &result {
            Ok(ended) => self.emit(|_| EventKind::RunFinished { status: ended.status.clone() }),
            Err(error) => self.emit(|_| EventKind::RunFailed { message: std::format!("{error}") }),
        }
        if self.keeps_head {
            self.keep_head();
        }
        result
    }

    /// Leaves the thread's head in memory for the next run, where the state is that of the last checkpoint.
    fn keep_head(&mut self) {
        if let Some(checkpoint) = self.base.stored.take()
            && checkpoint.schema == self.runtime.program.schema_fingerprint
            && self.base.state.is_stored()
        {
            let initial = CurrentState::new(Arc::clone(&self.runtime.program.initial));
            let state = replace(&mut self.base.state, initial);
            self.runtime.heads.put(self.cell.thread.clone(), KeptHead { checkpoint, state });
        }
    }

    /// Leaves the thread's head in memory for other tasks of its superstep, while this run uses it.
    pub(crate) fn share_head(&self) {
        if let Some(checkpoint) = &self.base.stored
            && checkpoint.schema == self.runtime.program.schema_fingerprint
        {
            let head = KeptHead { checkpoint: Arc::clone(checkpoint), state: self.base.state.copy() };
            self.runtime.heads.put(self.cell.thread.clone(), head);
        }
    }

    /// Carries out the machine's commands until it stops.
    async fn run(&mut self, begin: Begin) -> Result<Ended, RunError> {
        self.machine.handle(Event::Begin(begin));
        self.superstep_begins();
        loop {
            while let Some(command) = self.machine.next_command() {
                if self.waiting_input.is_some()
                    && !matches!(command, Command::Run { .. } | Command::Commit(_))
                {
                    self.store_input().await?;
                }
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

    /// Prepares the superstep after a barrier.
    pub(crate) async fn next_superstep(&mut self) {
        let Superstep { slots, recorded, spare, .. } = &mut self.superstep;
        *spare = slots.first_mut().and_then(|slot| slot.cell.take());
        slots.clear();
        slots.resize_with(self.machine.width(), Slot::default);
        *recorded = Recorded::default();
        self.superstep_begins();
        // A run of nodes that never wait must not starve other tasks of the runtime.
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
        let head = ThreadHead::from(loaded);
        // State that this driver has merged but not stored does not count, and the other driver may be several
        // supersteps ahead.
        if let (Some(delta), Some(saver)) = (&mut self.delta, &self.cell.saver)
            && self.base.checkpoint != Some(head.checkpoint.id)
        {
            delta.read_again(&**saver, &self.cell.thread, &head, &self.runtime.program).await?;
        }
        let begin = Begin::Resume(self.restore(head)?.into());
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

    /// Redacts the values of secret fields in recordings of the run, and in lookups of recordings.
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
                    // The cell contains nothing that the previous task could use by mistake.
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

    /// Returns the state on which the branches of a node decide.
    fn basis(&mut self, node: NodeId) -> Basis {
        if self.runtime.program.node(node).branches.is_empty() {
            Basis::Nothing
        } else if self.machine.width() == 1 {
            Basis::Current
        } else {
            let copies = Arc::clone(self.superstep.copies.get_or_insert_default());
            Basis::Shared(Box::new(Shared { snapshot: self.base.state.share(), copies }))
        }
    }

    /// Waits until a task ends, the caller cancels, the superstep's time is over, or the saver reports another
    /// driver's result.
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
    /// Cancels a run that is dropped: its tasks are aborted, and their remaining code starts no effects.
    fn drop(&mut self) {
        self.cell.revoke();
    }
}
