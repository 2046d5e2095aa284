//! Events of supersteps that did not end, or ended in another run than the one that began them.

use std::collections::BTreeSet;
use std::vec::Vec;

use super::rebuild::{Rebuild, leads_nowhere};
use super::told::{Moment, Placed, Runs, Told, UNKNOWN, Unfinished, emissions, told};
use crate::checkpoint::{AskRecord, Checkpoint, FailureRecord, NextTask, Source, StepRecord, TaskResult};
use crate::id::{NodeName, TaskId, ThreadId};
use crate::run::runtime::event::{EventKind, PathSegment};
use crate::run::runtime::outcome::Status;

impl Rebuild<'_> {
    /// Rebuilds the pause of the run that wrote `base`, if it paused on top of it. Its questions have been answered
    /// since.
    pub(super) fn pause(self, base: &StepRecord, thread: &ThreadId, all: &mut Vec<Told>) {
        if !has_paused(base) {
            return;
        }
        let checkpoint = &base.checkpoint;
        let moment = Moment { run: checkpoint.run, at_ms: checkpoint.id.unix_ms() };
        all.push(told(moment, superstep_on(base)));
        for (at, next) in planned_on(base) {
            if has_asked(base, next) {
                all.push(told(moment, at.started(UNKNOWN)));
                let runs = Runs::Only(checkpoint.run);
                all.extend(
                    self.below(base, next, thread, at.segment(), runs, Unfinished::Nothing).map(Told::Below),
                );
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

    /// Returns the tasks on top of a head whose subgraphs are only known from their own threads.
    pub(super) fn silent_subgraphs(self, thread: &ThreadId, head: &StepRecord) -> Vec<(u32, ThreadId)> {
        let silent = planned_on(head).filter_map(|(at, next)| {
            let known = Known::of(head, next);
            let below = self.below(head, next, thread, at.segment(), Runs::All, Unfinished::All)?;
            (!known.is_any()).then_some((at.task, below.thread))
        });
        silent.collect()
    }

    /// Rebuilds the events of the work that is unfinished on top of a head, or was discarded there. `begun`
    /// contains the tasks whose subgraphs have begun without another trace.
    pub(super) fn unfinished(
        self,
        thread: &ThreadId,
        head: &StepRecord,
        begun: &BTreeSet<u32>,
        what: Unfinished,
    ) -> Vec<Told> {
        let mut all = Vec::new();
        if leads_nowhere(head) {
            return all;
        }
        let checkpoint = &head.checkpoint;
        let moment = Moment { run: checkpoint.run, at_ms: checkpoint.id.unix_ms() };
        let runs = match what {
            Unfinished::Before(run) => Runs::AllBut(run),
            Unfinished::Nothing | Unfinished::GivenUp | Unfinished::All => Runs::All,
        };
        let mut failed = None;
        for (at, next) in planned_on(head) {
            let known = Known::of(head, next);
            let is_left_out = matches!(what, Unfinished::Before(_)) && known.result.is_some();
            if is_left_out || (!known.is_any() && !begun.contains(&at.task)) {
                continue;
            }
            let attempt = known.failure.map_or(UNKNOWN, |failure| failure.attempts);
            all.push(told(moment, at.started(attempt)));
            let segment = PathSegment { attempt, ..at.segment() };
            all.extend(self.below(head, next, thread, segment, runs, what).map(Told::Below));
            if let Some(result) = known.result {
                if let Some(emitted) = &result.emitted {
                    emissions(at, emitted, moment, &mut all);
                }
                let route = result.route.as_ref().map(|route| route.case.clone());
                if result.is_finished() {
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
            None => {
                let asked = |ask: &&AskRecord| ask.is_open() || what != Unfinished::All;
                self.interrupted(head.work.asks.iter().filter(asked), moment, &mut all);
            }
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

/// The stored work of one of a head's tasks.
struct Known<'a> {
    result: Option<&'a TaskResult>,
    failure: Option<&'a FailureRecord>,
    asks: bool,
}

impl<'a> Known<'a> {
    fn of(head: &'a StepRecord, next: &NextTask) -> Self {
        let id = next.id(head.checkpoint.id, head.checkpoint.step);
        let result = head.work.results.iter().find(|result| result.task == id);
        let failure = head.work.failures.iter().find(|failure| failure.task == id);
        let asks = has_asked(head, next);
        Self { result, failure: failure.filter(|_| result.is_none()), asks: asks && result.is_none() }
    }

    fn is_any(&self) -> bool {
        self.result.is_some() || self.failure.is_some() || self.asks
    }
}

/// Returns `true` if the run that wrote a checkpoint asked questions on top of it. Questions on top of an edit do
/// not count, because other runs asked them and the edit carried them over.
pub(super) fn has_paused(base: &StepRecord) -> bool {
    let is_run = matches!(base.checkpoint.source, Source::Input | Source::Loop);
    is_run && !base.work.asks.is_empty()
}

/// Returns `true` if a task on top of a checkpoint asked a question.
pub(super) fn has_asked(base: &StepRecord, next: &NextTask) -> bool {
    let id = next.id(base.checkpoint.id, base.checkpoint.step);
    base.work.asks.iter().any(|ask| ask.task == id)
}

/// Returns the next tasks of a checkpoint.
fn planned_on(base: &StepRecord) -> impl Iterator<Item = (Placed<'_>, &NextTask)> {
    let step = base.checkpoint.step + 1;
    let tasks = base.checkpoint.frontier.tasks.iter();
    (0u32..).zip(tasks).map(move |(task, next)| (Placed { step, task, node: &next.node }, next))
}

fn superstep_on(base: &StepRecord) -> EventKind {
    let nodes = base.checkpoint.frontier.tasks.iter().map(|next| next.node.clone()).collect();
    EventKind::SuperstepStarted { step: base.checkpoint.step + 1, nodes, tasks: tasks_on(base) }
}

/// Returns the ids of the next tasks of a checkpoint.
pub(super) fn tasks_on(base: &StepRecord) -> Vec<TaskId> {
    let Checkpoint { id, step, frontier, .. } = &base.checkpoint;
    frontier.tasks.iter().map(|next| next.id(*id, *step)).collect()
}

/// Creates the event of a failed run, with the text of [`NodeFailure`](crate::run::NodeFailure).
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
