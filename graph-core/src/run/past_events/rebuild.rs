//! From a stored checkpoint to the events that led to it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::vec::Vec;

use crate::checkpoint::{
    AskRecord, Emitted, EmittedEvent, FailureRecord, NextTask, Source, StepRecord, TaskRecord,
};
use crate::graph::Program;
use crate::id::{CheckpointId, NodeName, RunId, TaskId, ThreadId};
use crate::run::event::{EventKind, NamedWrite, PathSegment};
use crate::run::field_map::FieldMap;
use crate::run::outcome::Status;
use crate::run::redact;
use crate::run::stream::{View, Views};
use crate::run::subgraph::below;
use crate::state::{LoggedWrite, Schema};

/// The number of an attempt that is not stored.
const UNKNOWN: u32 = 0;

/// One thing that is told.
pub(super) enum Told {
    Event(Happened),
    /// The state at this checkpoint, which is still to be read.
    Values {
        at: CheckpointId,
        happened: Moment,
    },
    /// What happened in the subgraph of a task.
    Below(Below),
}

/// When something happened, as far as that is known, and in which run.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) run: RunId,
    pub(super) at_ms: u64,
}

pub(super) struct Happened {
    pub(super) moment: Moment,
    pub(super) kind: EventKind,
}

/// The subgraph of a task.
pub(super) struct Below {
    pub(super) program: Arc<Program>,
    pub(super) thread: ThreadId,
    pub(super) task: PathSegment,
    pub(super) runs: Runs,
    /// Whether what is unfinished there is told as well.
    pub(super) is_open: bool,
}

/// Of which runs a subgraph's events are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    All,
    Only(RunId),
    AllBut(RunId),
}

impl Runs {
    pub(super) fn has(self, run: RunId) -> bool {
        match self {
            Self::All => true,
            Self::Only(only) => run == only,
            Self::AllBut(other) => run != other,
        }
    }
}

/// What a checkpoint tells, in three parts.
#[derive(Default)]
pub(super) struct Group {
    /// Up to its own event.
    pub(super) before: Vec<Told>,
    /// Its own event, and what came after it.
    pub(super) rest: Vec<Told>,
}

/// Tells of the checkpoints of one graph.
#[derive(Clone, Copy)]
pub(super) struct Rebuild<'a> {
    pub(super) program: &'a Program,
    pub(super) wanted: Views,
}

impl Rebuild<'_> {
    /// What a checkpoint tells, given the one that it continues.
    pub(super) fn checkpoint(self, base: Option<&StepRecord>, record: &StepRecord) -> Group {
        let checkpoint = &record.checkpoint;
        let end = Moment { run: checkpoint.run, at_ms: checkpoint.id.unix_ms() };
        let mut group = Group::default();
        let ran = matches!(checkpoint.source, Source::Input | Source::Loop);
        if ran {
            self.superstep(base, record, &mut group.before);
        }
        if self.wanted.has(View::Values) && checkpoint.source == Source::Loop {
            group.before.push(Told::Values { at: checkpoint.id, happened: end });
        }
        let next = checkpoint.frontier.nodes().cloned().collect();
        let saved = EventKind::CheckpointSaved {
            id: checkpoint.id,
            step: checkpoint.step,
            source: checkpoint.source,
            next,
        };
        group.rest.push(told(end, saved));
        if checkpoint.source == Source::Loop && leads_nowhere(record) {
            let unfinished = checkpoint.frontier.joins.iter().map(|join| EventKind::JoinUnfinished {
                target: join.target.clone(),
                missing: join.sources.iter().filter(|node| !join.arrived.contains(node)).cloned().collect(),
            });
            group.rest.extend(unfinished.map(|kind| told(end, kind)));
            group.rest.push(told(end, EventKind::RunFinished { status: Status::Finished }));
        }
        group
    }

    /// The superstep that led to a checkpoint; where another run did it than the one before, also how that one
    /// ended, as far as that is known, and that this one began.
    fn superstep(self, base: Option<&StepRecord>, record: &StepRecord, all: &mut Vec<Told>) {
        let checkpoint = &record.checkpoint;
        let run = checkpoint.run;
        let before = base.filter(|base| base.checkpoint.run != run);
        let paused = before.filter(|base| base.checkpoint.source == Source::Loop || is_input(base));
        let paused = paused.filter(|base| !base.work.asks.is_empty());
        if let Some(base) = paused {
            self.pause(base, &record.thread, all);
        }
        let begun = CheckpointId(run.0).unix_ms();
        let stands_since = base.map_or(0, |base| base.checkpoint.id.unix_ms());
        let start = Moment { run, at_ms: stands_since.max(begun) };
        let resumes = base.filter(|_| checkpoint.source == Source::Loop).map(|base| base.checkpoint.id);
        if before.is_some() || base.is_none() {
            all.push(told(start, self.run_started(record, resumes)));
            if self.wanted.has(View::Values)
                && let Some(at) = resumes
            {
                all.push(Told::Values { at, happened: start });
            }
        }
        if checkpoint.source == Source::Input {
            return;
        }
        let nodes = checkpoint.tasks.iter().map(|task| task.node.clone()).collect();
        all.push(told(start, EventKind::SuperstepStarted { step: checkpoint.step, nodes }));
        let end = Moment { run, at_ms: checkpoint.id.unix_ms() };
        for (position, task) in (0u32..).zip(&checkpoint.tasks) {
            let told_before = paused.map(|base| base.checkpoint.run);
            let runs = told_before.map_or(Runs::All, Runs::AllBut);
            let step = Placed { step: checkpoint.step, task: position, node: &task.node };
            let attempt = self.starts(step, task, start, all);
            let planned = base.and_then(|base| planned(base, position).map(|next| (base, next)));
            let planned = planned.filter(|(_, next)| next.node == task.node);
            if let Some((base, next)) = planned {
                let segment = PathSegment { attempt, ..step.segment() };
                all.extend(self.below(base, next, &record.thread, segment, runs, false).map(Told::Below));
            }
            let emitted = record.emitted.iter().find(|(of, _)| *of == position);
            if let Some((_, emitted)) = emitted {
                emissions(step, emitted, end, all);
            }
            let route = task.route.as_ref().map(|route| route.case.clone());
            self.finished(step, &task.writes, &record.schema, route, end, all);
        }
    }

    fn run_started(self, record: &StepRecord, resumes: Option<CheckpointId>) -> EventKind {
        EventKind::RunStarted {
            graph: self.program.topology.name().clone(),
            thread: record.thread.clone(),
            resumes,
        }
    }

    /// The start of a task that finished, or of its error handler. Returns the attempt, as far as it is known.
    fn starts(self, at: Placed<'_>, task: &TaskRecord, start: Moment, all: &mut Vec<Told>) -> u32 {
        let Some(handled) = &task.handled else {
            all.push(told(start, at.started(UNKNOWN)));
            return UNKNOWN;
        };
        all.push(told(start, at.started(handled.attempts)));
        all.push(told(
            start,
            EventKind::TaskFailed {
                step: at.step,
                task: at.task,
                node: at.node.clone(),
                attempt: handled.attempts,
                error: handled.error.clone(),
                retry_in_ms: None,
                handled: true,
            },
        ));
        all.push(told(start, at.started(handled.attempts + 1)));
        handled.attempts + 1
    }

    fn finished(
        self,
        at: Placed<'_>,
        writes: &[LoggedWrite],
        schema: &Schema,
        route: Option<alloc::string::String>,
        end: Moment,
        all: &mut Vec<Told>,
    ) {
        let shown = self.shown(writes, schema);
        let Placed { step, task, node } = at;
        let update = self.wanted.has(View::Updates) && !node.is_start();
        let update = update.then(|| EventKind::Update {
            step,
            task,
            node: node.clone(),
            writes: shown
                .iter()
                .map(|write| redact::named(write, &self.program.schema))
                .collect::<Vec<NamedWrite>>(),
            recorded: false,
        });
        let node = node.clone();
        let finished = EventKind::TaskFinished {
            step,
            task,
            node,
            writes: shown,
            route,
            recorded: false,
            cached: false,
        };
        all.push(told(end, finished));
        all.extend(update.map(|update| told(end, update)));
    }

    /// Stored writes in the fields of the program; a field is secret where it is, or was when they were stored.
    fn shown(self, writes: &[LoggedWrite], schema: &Schema) -> Vec<LoggedWrite> {
        let fields = FieldMap::new(schema, &self.program.schema);
        let shown = writes.iter().filter_map(|write| {
            let field = fields.own(write.field)?;
            let secret = schema.field(write.field).secret || self.program.schema.field(field).secret;
            let write = if secret { redact::without_value(&write.write) } else { write.write.clone() };
            Some(LoggedWrite { field, write })
        });
        shown.collect()
    }

    /// The subgraph of a task that was planned on `base` and ran on `thread`.
    fn below(
        self,
        base: &StepRecord,
        next: &NextTask,
        thread: &ThreadId,
        task: PathSegment,
        runs: Runs,
        is_open: bool,
    ) -> Option<Below> {
        let node = self.program.topology.find(&next.node)?;
        let program = self.program.node(node).subgraph.as_ref().map(Arc::clone)?;
        let id = next.id(base.checkpoint.id, base.checkpoint.step);
        let thread = below::thread(&base.work.effects, thread, id);
        Some(Below { program, thread, task, runs, is_open })
    }

    /// That the run which wrote `base` paused on top of it: what it asked has been answered since.
    fn pause(self, base: &StepRecord, thread: &ThreadId, all: &mut Vec<Told>) {
        let checkpoint = &base.checkpoint;
        let moment = Moment { run: checkpoint.run, at_ms: checkpoint.id.unix_ms() };
        all.push(told(moment, superstep_on(base)));
        for (at, next) in planned_on(base) {
            let id = next.id(checkpoint.id, checkpoint.step);
            if base.work.asks.iter().any(|ask| ask.task == id) {
                all.push(told(moment, at.started(UNKNOWN)));
                let runs = Runs::Only(checkpoint.run);
                all.extend(self.below(base, next, thread, at.segment(), runs, false).map(Told::Below));
                all.push(told(moment, at.paused()));
            }
        }
        self.interrupted(&base.work.asks, moment, all);
    }

    fn interrupted<'a>(
        self,
        asks: impl IntoIterator<Item = &'a AskRecord>,
        moment: Moment,
        all: &mut Vec<Told>,
    ) {
        let interrupts: Vec<_> = asks.into_iter().map(|ask| self.program.interrupt(ask)).collect();
        if !interrupts.is_empty() {
            all.push(told(moment, EventKind::Interrupted { interrupts: interrupts.clone() }));
            all.push(told(moment, EventKind::RunFinished { status: Status::Interrupted { interrupts } }));
        }
    }

    /// The tasks on top of a head whose subgraphs only their own threads know of.
    pub(super) fn silent_subgraphs(self, thread: &ThreadId, head: &StepRecord) -> Vec<(u32, ThreadId)> {
        let silent = planned_on(head).filter_map(|(at, next)| {
            let known = Known::of(head, next);
            let below = self.below(head, next, thread, at.segment(), Runs::All, true)?;
            (!known.is_any()).then_some((at.task, below.thread))
        });
        silent.collect()
    }

    /// What is unfinished on top of a head, given the tasks whose subgraphs have begun without another trace.
    pub(super) fn unfinished(self, thread: &ThreadId, head: &StepRecord, begun: &BTreeSet<u32>) -> Vec<Told> {
        let mut all = Vec::new();
        if leads_nowhere(head) {
            return all;
        }
        let checkpoint = &head.checkpoint;
        let moment = Moment { run: checkpoint.run, at_ms: checkpoint.id.unix_ms() };
        let mut failed = None;
        for (at, next) in planned_on(head) {
            let known = Known::of(head, next);
            if !known.is_any() && !begun.contains(&at.task) {
                continue;
            }
            let attempt = known.failure.map_or(UNKNOWN, |failure| failure.attempts);
            all.push(told(moment, at.started(attempt)));
            let segment = PathSegment { attempt, ..at.segment() };
            all.extend(self.below(head, next, thread, segment, Runs::All, true).map(Told::Below));
            if let Some(result) = known.result {
                if let Some(emitted) = &result.emitted {
                    emissions(at, emitted, moment, &mut all);
                }
                let route = result.route.as_ref().map(|route| route.case.clone());
                // Without targets its routing failed, and the task is not finished.
                if result.targets.is_some() {
                    self.finished(at, &result.writes, &head.schema, route, moment, &mut all);
                }
            }
            if let Some(failure) = known.failure {
                let handled = self.is_handled(at.node);
                all.push(told(moment, at.failed(failure, handled)));
                if !handled {
                    failed.get_or_insert((at, failure));
                } else if known.asks {
                    all.push(told(moment, at.started(failure.attempts + 1)));
                }
            }
            if known.asks {
                all.push(told(moment, at.paused()));
            }
        }
        match failed {
            Some((at, failure)) => all.push(told(moment, run_failed(at, failure))),
            None => self.interrupted(head.work.asks.iter().filter(|ask| ask.is_open()), moment, &mut all),
        }
        if !all.is_empty() {
            all.insert(0, told(moment, superstep_on(head)));
        }
        all
    }

    fn is_handled(self, node: &NodeName) -> bool {
        let node = self.program.topology.find(node);
        node.is_some_and(|node| self.program.node(node).handler.is_some())
    }
}

/// A task's place.
#[derive(Clone, Copy)]
struct Placed<'a> {
    step: i64,
    task: u32,
    node: &'a NodeName,
}

impl Placed<'_> {
    fn started(self, attempt: u32) -> EventKind {
        EventKind::TaskStarted { step: self.step, task: self.task, node: self.node.clone(), attempt }
    }

    fn paused(self) -> EventKind {
        EventKind::TaskPaused { step: self.step, task: self.task, node: self.node.clone() }
    }

    fn failed(self, failure: &FailureRecord, handled: bool) -> EventKind {
        EventKind::TaskFailed {
            step: self.step,
            task: self.task,
            node: self.node.clone(),
            attempt: failure.attempts,
            error: failure.error.clone(),
            retry_in_ms: None,
            handled,
        }
    }

    fn segment(self) -> PathSegment {
        PathSegment { node: self.node.clone(), step: self.step, task: self.task, attempt: UNKNOWN }
    }
}

/// What a head knows of one of its tasks.
struct Known<'a> {
    result: Option<&'a crate::checkpoint::TaskResult>,
    failure: Option<&'a FailureRecord>,
    asks: bool,
}

impl<'a> Known<'a> {
    fn of(head: &'a StepRecord, next: &NextTask) -> Self {
        let id: TaskId = next.id(head.checkpoint.id, head.checkpoint.step);
        let result = head.work.results.iter().find(|result| result.task == id);
        let failure = head.work.failures.iter().find(|failure| failure.task == id);
        let asks = head.work.asks.iter().any(|ask| ask.task == id);
        Self { result, failure: failure.filter(|_| result.is_none()), asks: asks && result.is_none() }
    }

    fn is_any(&self) -> bool {
        self.result.is_some() || self.failure.is_some() || self.asks
    }
}

fn told(moment: Moment, kind: EventKind) -> Told {
    Told::Event(Happened { moment, kind })
}

fn is_input(base: &StepRecord) -> bool {
    base.checkpoint.source == Source::Input
}

/// Whether a run ends at a checkpoint: nothing is next, or a subgraph is left.
fn leads_nowhere(record: &StepRecord) -> bool {
    record.checkpoint.frontier.tasks.first().is_none_or(|first| first.node.is_end())
}

fn planned(base: &StepRecord, position: u32) -> Option<&NextTask> {
    base.checkpoint.frontier.tasks.get(usize::try_from(position).ok()?)
}

/// The tasks that are next at a checkpoint.
fn planned_on(base: &StepRecord) -> impl Iterator<Item = (Placed<'_>, &NextTask)> {
    let step = base.checkpoint.step + 1;
    let tasks = base.checkpoint.frontier.tasks.iter();
    (0u32..).zip(tasks).map(move |(task, next)| (Placed { step, task, node: &next.node }, next))
}

fn superstep_on(base: &StepRecord) -> EventKind {
    let nodes = base.checkpoint.frontier.tasks.iter().map(|next| next.node.clone()).collect();
    EventKind::SuperstepStarted { step: base.checkpoint.step + 1, nodes }
}

/// As [`NodeFailure`](crate::run::NodeFailure) says it.
fn run_failed(at: Placed<'_>, failure: &FailureRecord) -> EventKind {
    let after = match failure.attempts {
        0 | 1 => alloc::string::String::new(),
        several => std::format!(" after {several} attempts"),
    };
    let Placed { step, node, .. } = at;
    EventKind::RunFailed {
        message: std::format!("node {node:?} failed at step {step}{after}: {}", failure.error.message),
    }
}

fn emissions(at: Placed<'_>, emitted: &Emitted, end: Moment, all: &mut Vec<Told>) {
    let Placed { step, task, node } = at;
    if emitted.dropped > 0 {
        let count = emitted.dropped;
        all.push(told(end, EventKind::EmittedDropped { step, task, node: node.clone(), count }));
    }
    for event in &emitted.events {
        let node = node.clone();
        let (at_ms, kind) = match event.clone() {
            EmittedEvent::Custom { at_ms, name, data } => {
                (at_ms, EventKind::Custom { step, node, name, data })
            }
            EmittedEvent::Message { at_ms, chunk } => (at_ms, EventKind::MessageChunk { step, node, chunk }),
        };
        all.push(told(Moment { at_ms, ..end }, kind));
    }
}
