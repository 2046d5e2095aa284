//! Rebuilds the events that led to a stored checkpoint.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::vec::Vec;

use alloc::string::String;

use super::told::{Below, Group, Moment, Placed, Runs, Told, UNKNOWN, Unfinished, emissions, told};
use super::unfinished::{has_asked, has_paused, tasks_on};
use crate::checkpoint::{NextTask, Source, StepRecord, TaskRecord, below};
use crate::graph::Program;
use crate::id::{CheckpointId, ThreadId};
use crate::run::runtime::event::{EventKind, NamedWrite, PathSegment};
use crate::run::runtime::field_map::FieldMap;
use crate::run::runtime::outcome::Status;
use crate::run::runtime::redact;
use crate::run::runtime::stream::view::{View, Views};
use crate::state::{LoggedWrite, Schema};

/// Rebuilds the events of one graph's checkpoints.
#[derive(Clone, Copy)]
pub(super) struct Rebuild<'a> {
    pub(super) program: &'a Program,
    pub(super) wanted: Views,
}

impl Rebuild<'_> {
    /// Rebuilds the events of a checkpoint, given the checkpoint that it continues.
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

    /// Rebuilds the events of the superstep that led to a checkpoint. If another run executed it than the one
    /// before, this includes the end of the earlier run, as far as it is known, and the start of this one.
    fn superstep(self, base: Option<&StepRecord>, record: &StepRecord, all: &mut Vec<Told>) {
        let checkpoint = &record.checkpoint;
        let run = checkpoint.run;
        let before = base.filter(|base| base.checkpoint.run != run);
        let is_input = checkpoint.source == Source::Input;
        let given_up = before.filter(|_| is_input);
        if let Some(base) = given_up {
            all.extend(self.unfinished(&record.thread, base, &BTreeSet::new(), Unfinished::GivenUp));
        }
        let paused = before.filter(|base| !is_input && has_paused(base));
        if let Some(base) = paused {
            self.pause(base, &record.thread, all);
        }
        let begun = CheckpointId(run.0).unix_ms();
        let stands_since = base.map_or(0, |base| base.checkpoint.id.unix_ms());
        let start = Moment { run, at_ms: stands_since.max(begun) };
        let resumes = base.filter(|_| checkpoint.source == Source::Loop).map(|base| base.checkpoint.id);
        // A subgraph that keeps its state may begin again in the run in which it last ended.
        if is_input || before.is_some() || base.is_none() {
            all.push(told(start, self.run_started(record, resumes)));
            if self.wanted.has(View::Values)
                && let Some(at) = resumes
            {
                all.push(Told::Values { at, happened: start });
            }
        }
        if is_input {
            return;
        }
        let nodes = checkpoint.tasks.iter().map(|task| task.node.clone()).collect();
        let tasks = base.map(tasks_on).unwrap_or_default();
        all.push(told(start, EventKind::SuperstepStarted { step: checkpoint.step, nodes, tasks }));
        let end = Moment { run, at_ms: checkpoint.id.unix_ms() };
        for (position, task) in (0u32..).zip(&checkpoint.tasks) {
            let step = Placed { step: checkpoint.step, task: position, node: &task.node };
            let attempt = self.starts(step, task, start, all);
            let planned = base.and_then(|base| planned(base, position).map(|next| (base, next)));
            let planned = planned.filter(|(_, next)| next.node == task.node);
            if let Some((base, next)) = planned {
                let segment = PathSegment { attempt, ..step.segment() };
                // The events of a task before it paused are part of the pause.
                let runs = match paused.filter(|base| has_asked(base, next)) {
                    Some(base) => Runs::AllBut(base.checkpoint.run),
                    None => Runs::All,
                };
                all.extend(
                    self.below(base, next, &record.thread, segment, runs, Unfinished::Nothing)
                        .map(Told::Below),
                );
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

    /// Rebuilds the start of a finished task, or of its error handler. Returns the attempt number, as far as it is
    /// known.
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

    pub(super) fn finished(
        self,
        at: Placed<'_>,
        writes: &[LoggedWrite],
        schema: &Schema,
        route: Option<String>,
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

    /// Converts stored writes to the fields of the program. A field is redacted if it is secret now, or was when
    /// the writes were stored.
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

    /// Returns the subgraph of a task that was planned on `base` and ran on `thread`.
    pub(super) fn below(
        self,
        base: &StepRecord,
        next: &NextTask,
        thread: &ThreadId,
        task: PathSegment,
        runs: Runs,
        unfinished: Unfinished,
    ) -> Option<Below> {
        let node = self.program.topology.find(&next.node)?;
        let program = self.program.node(node).subgraph.as_ref().map(Arc::clone)?;
        let id = next.id(base.checkpoint.id, base.checkpoint.step);
        let thread = below::thread(&base.work.effects, thread, id);
        Some(Below { program, thread, task, runs, unfinished })
    }
}

/// Returns `true` if a run ends at a checkpoint: nothing is next, or a subgraph took an exit.
pub(super) fn leads_nowhere(record: &StepRecord) -> bool {
    record.checkpoint.frontier.tasks.first().is_none_or(|first| first.node.is_end())
}

fn planned(base: &StepRecord, position: u32) -> Option<&NextTask> {
    base.checkpoint.frontier.tasks.get(usize::try_from(position).ok()?)
}
