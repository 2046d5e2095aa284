//! Where a run begins: from a verb and the thread's head to the machine's first event.

use std::boxed::Box;
use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;
use std::vec::Vec;

use alloc::string::ToString;

use spin::Mutex;

use super::answering::answer;
use super::current_state::CurrentState;
use super::drive::Driver;
use super::edit::branch;
use super::idempotency::GivenInput;
use super::order::{Ended, Mode, Order, Verb};
use super::recorder::{Recorder, restore_emitted};
use super::slot::Slot;
use super::spans::Span;
use super::subgraph::delta::Delta;
use super::subgraph::surroundings::{Stopped, Surroundings};
use crate::checkpoint::{At, Loaded, Recorded, TaskResult};
use crate::engine::barrier::set_fields;
use crate::engine::restore::{RestoreError, find, restore};
use crate::engine::{Begin, Machine, Restored, TaskNumber};
use crate::graph::{END, NodeId, Program, Targets, each_item, to_node};
use crate::id::{RunId, TaskId};
use crate::node::{Around, CustomSink, Done, Record, Revoked, RunCell};
use crate::run::runtime::ambient::AmbientClock;
use crate::run::runtime::error::{RunError, ThreadError};
use crate::run::runtime::event::EventLog;
use crate::run::runtime::field_map::{FieldMap, state_of};
use crate::run::runtime::redact;
use crate::run::runtime::shared::Runtime;
use crate::state::{Json, LoggedWrite};
use crate::store::Store;

/// Carries out a caller's order, from its first look at the thread to the end of the run.
pub(crate) async fn carry_out(runtime: Arc<Runtime>, mut order: Box<Order>) -> Result<Ended, RunError> {
    if order.thread.is_below() {
        return Err(RunError::Subgraph { thread: order.thread });
    }
    match order.lease.take() {
        Some(lease) => Box::pin(lease.hold(runtime, order)).await,
        // A run may wait for days: what it takes to begin is freed before.
        None => Box::pin(begin(runtime, order)).await?.run().await,
    }
}

/// Reads the thread, under the lease that the caller holds, if any. Returns the run.
pub(crate) async fn begin(runtime: Arc<Runtime>, mut order: Box<Order>) -> Result<Prepared, RunError> {
    let Order { verb, thread, key, answered, metadata, observers, queue, .. } = &mut *order;
    runtime.register().await?;
    if let Verb::Rerun(original) = verb {
        branch(&runtime, thread, original).await?;
        *verb = Verb::Resume;
    }
    let run = RunId(runtime.ambient.id());
    let observers: Vec<_> = runtime.observers.iter().cloned().chain(take(observers)).collect();
    let log = EventLog::new(run, Arc::clone(&runtime.ambient), observers, queue.take());
    let has_input = matches!(verb, Verb::Input { .. });
    let mut loaded = match &runtime.saver {
        Some(_) if has_input => runtime.load(thread, At::Head).await?,
        Some(_) => runtime.load_on_time(thread).await?,
        None if has_input => None,
        None => return Err(ThreadError::NoCheckpointer.into()),
    };
    if let Some(key) = key {
        loaded = runtime.continued(thread, key, verb, loaded).await?;
        key.add_to(metadata);
    } else if let (false, Some(loaded)) = (has_input, &loaded) {
        metadata.extend(loaded.checkpoint.of_request());
    }
    if let Verb::Answer(answers) = verb {
        // Before the answer is stored, which is used once.
        if let Some(loaded) = &loaded {
            runtime.check_change(thread, &loaded.checkpoint, false)?;
        }
        let (with_answers, to) = answer(&runtime, thread, loaded, answers).await?;
        (loaded, *answered) = (Some(with_answers), to);
    }
    prepare(&runtime, *order, Beginning { run, log, loaded, delta: None, around: None })
}

/// The data that a run begins with, beside its order.
pub(crate) struct Beginning {
    pub(crate) run: RunId,
    pub(crate) log: Option<Arc<EventLog>>,
    /// The thread's head, answers included.
    pub(crate) loaded: Option<Loaded>,
    /// Where the writes are collected that a subgraph gives back.
    pub(crate) delta: Option<Delta>,
    /// The attempt that runs it, where it is a subgraph.
    pub(crate) around: Option<Around>,
}

/// A run that has not begun.
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
    let Beginning { run, log, loaded, delta, around } = beginning;
    let (mut driver, verb) = driver(runtime, order, run, log, around)?;
    let thread = driver.cell.thread.clone();
    driver.delta = delta;
    if let Some(loaded) = &loaded {
        runtime.check_change(&thread, &loaded.checkpoint, matches!(verb, Verb::Input { .. }))?;
    }
    let begin = match (verb, loaded) {
        (Verb::Input { whole: true, .. }, Some(_)) => return Err(RunError::NotANewThread { thread }),
        (Verb::Input { update, .. }, loaded) => {
            let writes = if driver.logs() {
                update.encode().map_err(|reason| RunError::Encode { what: "the input".into(), reason })?
            } else {
                Vec::new()
            };
            let last_step = loaded.as_ref().map(|loaded| loaded.checkpoint.step);
            if driver.cell.around.is_none() {
                let (run, step) = (driver.cell.run, last_step.map_or(-1, |last| last + 1));
                driver.given.get_or_insert(GivenInput::Of { run, step });
            }
            if let Some(loaded) = loaded {
                driver.stand_on(&loaded)?;
            }
            driver.input = Some(Done { update: Some(update), writes, ..Done::default() });
            Begin::Input { last_step }
        }
        (_, Some(loaded)) => driver.restore(loaded)?,
        (_, None) => return Err(RunError::NothingToResume { thread }),
    };
    Ok(Prepared { driver, begin })
}

/// A driver that has not begun, and what it is to do.
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
    /// Takes a checkpoint's state as the last barrier's.
    fn stand_on(&mut self, loaded: &Loaded) -> Result<(), ThreadError> {
        let program = &self.runtime.program;
        let (state, older) = state_of(program, loaded)?;
        // By their values, whatever wrote them: an edit or an input may lie in between.
        self.base.ephemeral = set_fields(&*state, &*program.initial, &self.runtime.one_step_fields);
        self.base.state = CurrentState::new(state);
        self.base.older = older;
        self.cell.kept.lock().clone_from(&loaded.checkpoint.frontier.kept);
        self.base.checkpoint = Some(loaded.checkpoint.id);
        self.base.step = loaded.checkpoint.step;
        Ok(())
    }

    /// Takes a checkpoint with the unfinished work on top of it.
    pub(crate) fn restore(&mut self, loaded: Loaded) -> Result<Begin, RunError> {
        let mut ours = Vec::new();
        if self.base.checkpoint == Some(loaded.checkpoint.id) {
            // The same superstep once more: what this run finished and nobody recorded stays finished.
            ours = std::mem::take(&mut self.superstep.slots);
        } else {
            self.stand_on(&loaded)?;
        }
        self.superstep.recorded = Recorded::of(&loaded.results, &loaded.effects);
        let program = Arc::clone(&self.runtime.program);
        let fields = FieldMap::new(&loaded.schema, &program.schema);
        let decode = |node: NodeId, json: &Json| match &program.node(node).description.input {
            Some(input) => (input.decode)(json),
            None => Err(crate::state::CodecError::new("the node takes no input any more")),
        };
        let frontier = &loaded.checkpoint.frontier;
        let (tasks, joins) = restore(&program.topology, frontier, decode).map_err(ThreadError::from)?;
        self.superstep.slots.clear();
        self.superstep.slots.resize_with(tasks.len(), Slot::default);
        // Looked up by task: a wide superstep has as many results as tasks.
        let results: HashMap<_, _> = loaded.results.iter().map(|result| (result.task, result)).collect();
        let mut asks = by_task(&loaded.asks, |ask| ask.task);
        let mut effects = by_task(&loaded.effects, |effect| effect.id.task);
        let failures: HashMap<_, _> = loaded.failures.iter().map(|failure| (failure.task, failure)).collect();
        let (mut finished, mut failed) = (Vec::new(), Vec::new());
        for ((planned, next), (slot, position)) in
            tasks.iter().zip(&frontier.tasks).zip(self.superstep.slots.iter_mut().zip(TaskNumber::all()))
        {
            if planned.node == NodeId::START {
                self.input = Some(stored_input(&program, &loaded, &fields, next.input.as_ref())?);
                continue;
            }
            let task = next.id(loaded.checkpoint.id, loaded.checkpoint.step);
            slot.rare().asks = asks.remove(&task).unwrap_or_default();
            slot.rare().effects = effects.remove(&task).unwrap_or_default();
            // What another version of the state wrote cannot be mapped: the task runs again, with its journal.
            if let Some(result) = results.get(&task).filter(|result| fields.carries(&result.writes)) {
                slot.output = Some(stored_output(&program, &loaded, &fields, result)?);
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
            // A node that failed for good is not tried again where its handler goes on.
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
        Ok(Begin::Resume(Restored { step: loaded.checkpoint.step, tasks, joins, finished, failed }))
    }
}

fn by_task<T: Clone>(records: &[T], task: impl Fn(&T) -> TaskId) -> HashMap<TaskId, Vec<T>> {
    let mut grouped: HashMap<TaskId, Vec<T>> = HashMap::new();
    for record in records {
        grouped.entry(task(record)).or_default().push(record.clone());
    }
    grouped
}

fn stored_input(
    program: &Program,
    loaded: &Loaded,
    fields: &FieldMap,
    input: Option<&Json>,
) -> Result<Done, RunError> {
    let broken =
        |reason| ThreadError::Decode { checkpoint: loaded.checkpoint.id, field: "the input".into(), reason };
    let writes = input.map(Json::decode::<Vec<LoggedWrite>>).transpose().map_err(broken)?.unwrap_or_default();
    if !fields.carries(&writes) {
        return Err(ThreadError::other_version("the input that waits", program, loaded).into());
    }
    let writes = fields.own_writes(&writes);
    let told = |reason| redact::reason(reason, writes.iter().map(|write| write.field), &program.schema);
    let update = program.initial.decode_update(&writes).map_err(|reason| broken(told(reason)))?;
    Ok(Done { update: Some(update), writes, ..Done::default() })
}

fn stored_output(
    program: &Program,
    loaded: &Loaded,
    fields: &FieldMap,
    result: &TaskResult,
) -> Result<Done, ThreadError> {
    let writes = fields.own_writes(&result.writes);
    let update = program.initial.decode_update(&writes).map_err(|reason| ThreadError::Decode {
        checkpoint: loaded.checkpoint.id,
        field: std::format!("the result of node {}", result.node),
        reason: redact::reason(reason, writes.iter().map(|write| write.field), &program.schema),
    })?;
    let TaskResult { route, kept, handled, .. } = result.clone();
    Ok(Done::stored(update, writes, Record { route, kept, handled, ..Record::default() }))
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
