//! The start of a run: turns a request and the thread's head into the machine's first event.

use std::boxed::Box;
use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use std::sync::Arc;
use std::vec::Vec;

use alloc::string::ToString;

use spin::Mutex;

use super::answering::answer;
use super::drive::Driver;
use super::edit::{BranchWork, branch};
use super::idempotency::GivenInput;
use super::order::{Ended, Mode, Order, Verb};
use super::recorder::{Recorder, restore_emitted};
use super::slot::Slot;
use super::spans::Span;
use super::subgraph::delta::Delta;
use super::subgraph::surroundings::{Stopped, Surroundings};
use crate::checkpoint::{CONFIGURATION, Checkpoint, Recorded, TaskResult};
use crate::engine::barrier::set_fields;
use crate::engine::restore::{RestoreError, find, restore};
use crate::engine::{Begin, Machine, Restored, TaskNumber};
use crate::graph::{END, NodeId, Program, Targets, each_item, to_node};
use crate::id::{CheckpointId, RunId, TaskId};
use crate::node::{Around, CustomSink, Done, Record, Revoked, RunCell};
use crate::run::runtime::ambient::AmbientClock;
use crate::run::runtime::error::RunError;
use crate::run::runtime::event::EventLog;
use crate::run::runtime::field_map::FieldMap;
use crate::run::runtime::redact;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::run::runtime::thread_head::{HeadValues, ThreadHead};
use crate::state::{ErasedUpdate, Json, LoggedWrite};
use crate::store::Store;

/// Carries out a caller's order, from reading the thread to the end of the run.
pub(crate) async fn carry_out(runtime: Arc<Runtime>, mut order: Box<Order>) -> Result<Ended, RunError> {
    if order.thread.is_below() {
        return Err(RunError::Subgraph { thread: order.thread });
    }
    if let Verb::Refused(error) = order.verb {
        return Err(error.into());
    }
    match order.lease.take() {
        Some(lease) => Box::pin(lease.hold(runtime, order)).await,
        // A run may wait for days, so the future of `begin` is freed before it.
        None => Box::pin(begin(runtime, order)).await?.run().await,
    }
}

/// Reads the thread and returns the run, ready to start. The lease of the order, if any, is already acquired.
pub(crate) async fn begin(runtime: Arc<Runtime>, mut order: Box<Order>) -> Result<Prepared, RunError> {
    let Order { verb, thread, key, answered, metadata, observers, queue, .. } = &mut *order;
    if let Verb::Rerun(original) = verb {
        let copied = branch(&runtime, thread, original, BranchWork::Begins, BTreeMap::new());
        runtime.registered(copied).await?;
        *verb = Verb::Resume;
    }
    let run = RunId(runtime.ambient.id());
    let observers: Vec<_> = runtime.observers.iter().cloned().chain(take(observers)).collect();
    let log = EventLog::new(run, Arc::clone(&runtime.ambient), observers, queue.take());
    let has_input = matches!(verb, Verb::Input { .. });
    let mut head = match &runtime.saver {
        Some(_) if has_input => runtime.registered(runtime.load_head(thread)).await?,
        Some(_) => {
            let load = async {
                let head = match verb {
                    Verb::Task(task) => runtime.load_task(thread, *task).await?,
                    _ => runtime.load_head(thread).await?,
                };
                runtime.on_time(thread, head).await
            };
            runtime.registered(load).await?
        }
        None if has_input => None,
        None => return Err(ThreadError::NoCheckpointer.into()),
    };
    if let Some(key) = key {
        head = runtime.continued(thread, key, verb, head).await?;
        key.add_to(metadata);
    } else if let (false, Some(head)) = (has_input, &head) {
        for (name, value) in head.checkpoint.of_request() {
            metadata.entry(name).or_insert(value);
        }
    }
    runtime
        .program
        .check_configuration(metadata.get(CONFIGURATION))
        .map_err(|(node, reason)| RunError::Configuration { node, reason })?;
    if let Verb::Answer(answers) = verb {
        // This is checked before the answer is stored, because an answer is used once.
        if let Some(head) = &head {
            runtime.check_change(thread, &head.checkpoint, false)?;
        }
        let (with_answers, to) = answer(&runtime, thread, head, answers).await?;
        (head, *answered) = (Some(with_answers), to);
    }
    let beginning = Beginning { run, log, head, is_unread: false, delta: None, around: None };
    prepare(&runtime, *order, beginning)
}

/// The data with which a run begins, in addition to its order.
pub(crate) struct Beginning {
    pub(crate) run: RunId,
    pub(crate) log: Option<Arc<EventLog>>,
    /// The thread's head, including the answers.
    pub(crate) head: Option<ThreadHead>,
    /// `true` if the thread was not read: only another driver of the run can have created it.
    pub(crate) is_unread: bool,
    /// Collects the writes that a subgraph returns.
    pub(crate) delta: Option<Delta>,
    /// The attempt that runs this subgraph; `None` for a run that is not a subgraph's.
    pub(crate) around: Option<Around>,
}

/// A run that is ready to start.
pub(crate) struct Prepared {
    driver: Box<Driver>,
    begin: Begin,
}

impl Prepared {
    pub(crate) async fn run(self) -> Result<Ended, RunError> {
        let Self { driver, begin } = self;
        let span = Span::run(driver.runtime.program.topology.name(), &driver.cell.thread, driver.cell.run);
        let ended = span.around(driver.drive(begin)).await;
        match &ended {
            Ok(ended) => span.outcome(&ended.status.name()),
            Err(error) => span.outcome(error),
        }
        ended
    }
}

/// Carries out an order on a thread that was read. Subgraphs begin here.
pub(crate) async fn perform(
    runtime: Arc<Runtime>,
    order: Order,
    beginning: Beginning,
) -> Result<Ended, RunError> {
    prepare(&runtime, order, beginning)?.run().await
}

fn prepare(runtime: &Arc<Runtime>, order: Order, beginning: Beginning) -> Result<Prepared, RunError> {
    let Beginning { run, log, head, is_unread, delta, around } = beginning;
    let (mut driver, verb) = driver(runtime, order, run, log, around)?;
    let thread = driver.cell.thread.clone();
    driver.delta = delta;
    driver.is_unread = is_unread;
    // The thread of a subgraph runs only once, so its head is not kept.
    driver.keeps_head = driver.cell.around.is_none() && runtime.keeps_heads();
    if let Some(head) = &head {
        runtime.check_change(&thread, &head.checkpoint, matches!(verb, Verb::Input { .. }))?;
    }
    let begin = match (verb, head) {
        (Verb::Input { whole: true, .. }, Some(_)) => return Err(RunError::NotANewThread { thread }),
        (Verb::Input { update, .. }, head) => {
            let writes = if driver.logs() {
                update.encode().map_err(|reason| RunError::Encode { what: "the input".into(), reason })?
            } else {
                Vec::new()
            };
            let last_step = head.as_ref().map(|head| head.checkpoint.step);
            if driver.cell.around.is_none() {
                let (run, step) = (driver.cell.run, last_step.map_or(-1, |last| last + 1));
                driver.given.get_or_insert(GivenInput::Of { run, step });
            }
            if let Some(head) = head {
                driver.stand_on(&head.checkpoint, head.values)?;
            }
            driver.input = Some(Done { update: Some(update), writes, ..Done::default() });
            Begin::Input { last_step }
        }
        (Verb::Task(task), Some(head)) => {
            let number =
                pending(&head.checkpoint, task).ok_or_else(|| ThreadError::no_such_task(&thread, task))?;
            let was_read = matches!(head.values, HeadValues::Stored { .. });
            let restored = driver.restore(head)?;
            // The other tasks of this superstep need the same head while this one runs.
            if take(&mut driver.keeps_head) && was_read {
                driver.share_head();
            }
            if restored.finished.iter().any(|(finished, _)| *finished == number) {
                return Err(ThreadError::TaskRecorded { thread, task }.into());
            }
            Begin::Task(restored.into(), number)
        }
        (_, Some(head)) => Begin::Resume(driver.restore(head)?.into()),
        (_, None) => return Err(RunError::NothingToResume { thread }),
    };
    Ok(Prepared { driver, begin })
}

/// Creates a driver that has not begun, and returns it with the verb of the order.
pub(crate) fn driver(
    runtime: &Arc<Runtime>,
    order: Order,
    run: RunId,
    log: Option<Arc<EventLog>>,
    around: Option<Around>,
) -> Result<(Box<Driver>, Verb), ThreadError> {
    let Order { verb, thread, key, answered, limits, stops, breakpoints, metadata, kept_bytes, mode, .. } =
        order;
    let breakpoints = runtime.breakpoints(&breakpoints)?;
    let surroundings = Surroundings {
        ambient: Arc::clone(&runtime.ambient),
        log: log.clone(),
        drain: stops.drain.clone(),
        metadata: metadata.clone(),
        answered,
        kept_bytes,
        on_change: runtime.on_change,
        mode: mode.clone(),
        stopped: Stopped::default(),
    };
    let recorder = Recorder::of(runtime, log.as_ref(), kept_bytes);
    let sink = match &recorder {
        Some(recorder) => Some(Arc::clone(recorder) as Arc<dyn CustomSink>),
        None => log.clone().map(|log| log as Arc<dyn CustomSink>),
    };
    let told_by_run = |store: &Store| store.told_by(AmbientClock(Arc::clone(&runtime.ambient)));
    let deck = runtime.deck.clone().or_else(|| around.as_ref()?.deck().cloned());
    let cell = RunCell {
        thread: thread.clone(),
        run,
        saver: runtime.saver.clone(),
        sink,
        nodes: Arc::clone(&runtime.program.names),
        ambient: Arc::clone(&runtime.ambient),
        context: Arc::clone(&runtime.context),
        kept: Mutex::default(),
        surroundings: Arc::new(surroundings),
        store: runtime.store.as_ref().map(told_by_run),
        cache: runtime.cache.as_ref().filter(|_| matches!(mode, Mode::Live)).map(told_by_run),
        metadata,
        around,
        tape: mode.tape(),
        deck,
        revoked: Revoked::default(),
    };
    let state = Arc::clone(&runtime.program.initial);
    let machine = Machine::new(Arc::clone(&runtime.program.topology), limits).with_breakpoints(breakpoints);
    let driver = Driver::new(Arc::clone(runtime), Arc::new(cell), log, stops, machine, state);
    let mut driver = Box::new(driver);
    driver.recorder = recorder;
    driver.given = key.map(GivenInput::Keyed);
    Ok((driver, verb))
}

impl Driver {
    /// Continues from a checkpoint: its state becomes that of the last barrier.
    fn stand_on(&mut self, checkpoint: &Arc<Checkpoint>, values: HeadValues) -> Result<(), ThreadError> {
        let program = &self.runtime.program;
        let (state, older) = values.state(program, checkpoint.id)?;
        // The fields are found by comparing values, because an edit or an input may have changed them in the meantime.
        self.base.ephemeral = set_fields(&*state, &*program.initial, &self.runtime.one_step_fields);
        self.base.state = state;
        self.base.older = older;
        self.cell.kept.lock().clone_from(&checkpoint.frontier.kept);
        self.base.checkpoint = Some(checkpoint.id);
        self.base.step = checkpoint.step;
        self.base.stored = Some(Arc::clone(checkpoint));
        self.base.is_last = false;
        Ok(())
    }

    /// Restores a checkpoint with its unfinished work.
    pub(crate) fn restore(&mut self, head: impl Into<ThreadHead>) -> Result<Restored, RunError> {
        let head: ThreadHead = head.into();
        let program = Arc::clone(&self.runtime.program);
        let fields = FieldMap::new(head.schema(&program), &program.schema);
        let version = head.schema(&program).version;
        let ThreadHead { checkpoint, work, values } = head;
        let mut ours = Vec::new();
        if self.base.checkpoint == Some(checkpoint.id) {
            // The same superstep is repeated. Tasks that this run finished stay finished, even if no result was
            // recorded.
            ours = std::mem::take(&mut self.superstep.slots);
        } else {
            self.stand_on(&checkpoint, values)?;
        }
        self.superstep.recorded = Recorded::of(&work.results, &work.effects);
        let stored = Stored { program: &program, checkpoint: checkpoint.id, version, fields: &fields };
        let decode = |node: NodeId, json: &Json| match &program.node(node).description.input {
            Some(input) => (input.decode)(json),
            None => Err(crate::state::CodecError::new("the node takes no input any more")),
        };
        let frontier = &checkpoint.frontier;
        let (tasks, joins) = restore(&program.topology, frontier, decode).map_err(ThreadError::from)?;
        self.superstep.slots.clear();
        self.superstep.slots.resize_with(tasks.len(), Slot::default);
        // Results are looked up by task, because a wide superstep has as many results as tasks.
        let results: HashMap<_, _> = work.results.iter().map(|result| (result.task, result)).collect();
        let mut asks = by_task(&work.asks, |ask| ask.task);
        let mut effects = by_task(&work.effects, |effect| effect.id.task);
        let failures: HashMap<_, _> = work.failures.iter().map(|failure| (failure.task, failure)).collect();
        let (mut finished, mut failed) = (Vec::new(), Vec::new());
        for ((planned, next), (slot, position)) in
            tasks.iter().zip(&frontier.tasks).zip(self.superstep.slots.iter_mut().zip(TaskNumber::all()))
        {
            if planned.node == NodeId::START {
                self.input = Some(stored.input(next.input.as_ref())?);
                continue;
            }
            let task = next.id(checkpoint.id, checkpoint.step);
            slot.rare().asks = asks.remove(&task).unwrap_or_default();
            slot.rare().effects = effects.remove(&task).unwrap_or_default();
            // Writes under another version of the state cannot be mapped, so the task runs again, with its journal.
            if let Some(result) = results.get(&task).filter(|result| fields.carries(&result.writes)) {
                slot.output = Some(stored.output(result)?);
                slot.targets.clone_from(&result.targets);
                restore_emitted(
                    &mut self.recorder,
                    &self.runtime,
                    self.base.step + 1,
                    position.get(),
                    result,
                );
            } else if let Some(slot_of_ours) = ours.get_mut(position.index()) {
                slot.output = slot_of_ours.output.take();
                slot.targets = slot_of_ours.targets.take();
                slot.rare().failure = slot_of_ours.rare().failure.take();
            }
            // A failed node is not retried if its error handler continues the task.
            if let Some(failure) = failures.get(&task)
                && program.node(planned.node).handler.is_some()
            {
                slot.rare().failure = Some(Arc::new((*failure).clone()));
            }
            if slot.rare().failure.is_some() {
                failed.push(position);
            }
            if let Some(targets) = &slot.targets {
                let handled = slot.output.as_ref().and_then(|output| output.record().handled.as_ref());
                let targets = stored_targets(&program, targets, &decode)?;
                let instead = handled.is_some_and(|handled| handled.instead);
                finished.push((position, if instead { targets.instead() } else { targets }));
            }
        }
        Ok(Restored { step: checkpoint.step, tasks, joins, finished, failed })
    }
}

/// Returns the position of a task among the checkpoint's next tasks; `None` if it is not one of them, or is START or
/// END.
fn pending(checkpoint: &Checkpoint, task: TaskId) -> Option<TaskNumber> {
    let mut next = TaskNumber::all().zip(&checkpoint.frontier.tasks);
    let found = next.find(|(_, next)| next.id(checkpoint.id, checkpoint.step) == task);
    found.filter(|(_, next)| !next.node.is_start() && !next.node.is_end()).map(|(number, _)| number)
}

fn by_task<T: Clone>(records: &[T], task: impl Fn(&T) -> TaskId) -> HashMap<TaskId, Vec<T>> {
    let mut grouped: HashMap<TaskId, Vec<T>> = HashMap::new();
    for record in records {
        grouped.entry(task(record)).or_default().push(record.clone());
    }
    grouped
}

/// Decodes data that was stored under a checkpoint's schema into updates of the program's state.
struct Stored<'p> {
    program: &'p Program,
    checkpoint: CheckpointId,
    /// The version of the checkpoint's schema.
    version: u32,
    fields: &'p FieldMap,
}

impl Stored<'_> {
    fn input(&self, input: Option<&Json>) -> Result<Done, RunError> {
        let broken =
            |reason| ThreadError::Decode { checkpoint: self.checkpoint, field: "the input".into(), reason };
        let writes =
            input.map(Json::decode::<Vec<LoggedWrite>>).transpose().map_err(broken)?.unwrap_or_default();
        if !self.fields.carries(&writes) {
            let what = "the input that waits";
            return Err(ThreadError::other_version(what, self.program, self.checkpoint, self.version).into());
        }
        self.update(&writes, "the input")
            .map(|(update, writes)| Done { update: Some(update), writes, ..Done::default() })
            .map_err(RunError::from)
    }

    fn output(&self, result: &TaskResult) -> Result<Done, ThreadError> {
        let (update, writes) =
            self.update(&result.writes, &std::format!("the result of node {}", result.node))?;
        let TaskResult { route, kept, handled, .. } = result.clone();
        Ok(Done::stored(update, writes, Record { route, kept, handled, ..Record::default() }))
    }

    fn update(
        &self,
        writes: &[LoggedWrite],
        field: &str,
    ) -> Result<(Box<dyn ErasedUpdate>, Vec<LoggedWrite>), ThreadError> {
        let writes = self.fields.own_writes(writes);
        let update = self.program.initial.decode_update(&writes).map_err(|reason| ThreadError::Decode {
            checkpoint: self.checkpoint,
            field: field.into(),
            reason: redact::reason(reason, writes.iter().map(|write| write.field), &self.program.schema),
        })?;
        Ok((update, writes))
    }
}

fn stored_targets(
    program: &Program,
    targets: &[crate::checkpoint::TargetRecord],
    decode: &dyn Fn(NodeId, &Json) -> Result<crate::node::Item, crate::state::CodecError>,
) -> Result<Targets, RunError> {
    let mut all = END;
    for target in targets {
        let node = find(&program.topology, &target.node).map_err(ThreadError::from)?;
        all = all.and(match &target.input {
            None => to_node(program.graph, node),
            Some(input) => {
                let item = decode(node, input).map_err(|error| RestoreError::Input {
                    node: target.node.clone(),
                    reason: error.to_string(),
                });
                each_item(program.graph, node, item.map_err(ThreadError::from)?)
            }
        });
    }
    Ok(all)
}
