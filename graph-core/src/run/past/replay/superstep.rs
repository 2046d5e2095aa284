//! The replay of one superstep from the recorded checkpoint before it.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::sync::Arc;
use std::vec::Vec;

use alloc::string::{String, ToString};

use tokio_util::sync::CancellationToken;

use super::compare;

use super::report::{Difference, WhyUnverified};
use super::silent::Silent;
use crate::checkpoint::{
    AskRecord, Checkpoint, Checkpointer, FailureRecord, Loaded, NextTask, Source, TaskRecord, TaskResult,
    below,
};
use crate::engine::{Begin, Limits};
use crate::id::{TaskId, ThreadId};
use crate::node::Note;
use crate::run::driver::begin::driver;
use crate::run::driver::order::{Mode, Order, Verb};
use crate::run::driver::recording::{Below, Recorded, Recording};
use crate::run::runtime::error::RunError;
use crate::run::runtime::shared::Runtime;
use crate::state::CodecError;

/// A recorded superstep.
pub(super) struct Superstep<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) saver: &'a Arc<dyn Checkpointer>,
    /// The thread that it ran on.
    pub(super) thread: &'a ThreadId,
    /// The checkpoint before it, with the journal of its tasks.
    pub(super) before: &'a Loaded,
    pub(super) recorded: &'a Checkpoint,
    /// The number of supersteps that its run could still take.
    pub(super) remaining: u64,
}

/// The differences and unverified tasks of a superstep.
#[derive(Default)]
pub(super) struct Findings {
    /// The difference of each task that differs.
    pub(super) tasks: BTreeMap<u32, Difference>,
    /// A difference that belongs to no single task.
    pub(super) whole: Option<Difference>,
    pub(super) unverified: BTreeMap<u32, WhyUnverified>,
    /// The subgraphs that ran in it.
    pub(super) below: Vec<Below>,
}

/// The results of running the superstep once.
struct Take {
    notes: Vec<(u32, Note)>,
    asked: Vec<AskRecord>,
    outcome: Result<Arc<Checkpoint>, String>,
    below: Vec<Below>,
}

impl Superstep<'_> {
    /// Replays the superstep. If a task does not reach its recorded outcome, the superstep is repeated with that
    /// outcome given, until it reaches its barrier. So the first failing task does not hide others.
    pub(super) async fn verify(&self) -> Result<Findings, CodecError> {
        let mut findings = Findings::default();
        let mut taken: BTreeSet<u32> = BTreeSet::new();
        loop {
            let Take { notes, asked, outcome, below } = self.play(&taken).await;
            let before = taken.len();
            for (task, note) in notes {
                if self.sort(task, note, &mut findings) {
                    taken.insert(task);
                }
            }
            for ask in asked {
                if let Some(task) = self.position(ask.task) {
                    self.differs(
                        task,
                        Difference::Question { key: ask.key, question: ask.question },
                        &mut findings,
                    );
                    taken.insert(task);
                }
            }
            if let Ok(replayed) = &outcome {
                for (task, (recorded, replayed)) in
                    (0u32..).zip(self.recorded.tasks.iter().zip(&replayed.tasks))
                {
                    if !taken.contains(&task)
                        && let Some(why) = self.excuse(task)
                        && recorded != replayed
                    {
                        findings.unverified.insert(task, why);
                        taken.insert(task);
                    }
                }
            }
            if taken.len() > before {
                continue;
            }
            findings.below = below;
            match outcome {
                Ok(replayed) => self.compare(&replayed, &mut findings)?,
                Err(reason) => findings.whole = Some(Difference::NotRunnable { reason }),
            }
            return Ok(findings);
        }
    }

    /// Handles a note. Returns `true` if the task needs its recorded outcome to finish.
    fn sort(&self, task: u32, note: Note, findings: &mut Findings) -> bool {
        let (difference, stops) = match note {
            Note::Unreached(effect) => {
                (Difference::EffectNotReached { effect: effect.name, key: effect.key }, false)
            }
            Note::Unrecorded { effect, instead } => {
                let (effect, key) = (effect.name, effect.key);
                (Difference::EffectNotRecorded { effect, key, recorded_key: instead }, true)
            }
            Note::Failed(error) => (Difference::Failed { error }, true),
            Note::Unrepeatable(effect) => {
                findings.unverified.entry(task).or_insert(WhyUnverified::Error { effect: effect.name });
                return true;
            }
            Note::NoSubgraph => {
                findings.unverified.entry(task).or_insert(WhyUnverified::Subgraph);
                return true;
            }
        };
        self.differs(task, difference, findings);
        stops
    }

    fn differs(&self, task: u32, difference: Difference, findings: &mut Findings) {
        if findings.unverified.contains_key(&task) {
            return;
        }
        match self.excuse(task) {
            Some(why) => {
                findings.unverified.insert(task, why);
            }
            None => {
                findings.tasks.entry(task).or_insert(difference);
            }
        }
    }

    /// Returns the reason why a task may have another outcome than its code gives.
    fn excuse(&self, task: u32) -> Option<WhyUnverified> {
        if self.before.checkpoint.source == Source::Update {
            return Some(WhyUnverified::Edited);
        }
        let next = self.next(task)?;
        let program = &self.runtime.program;
        let node = program.topology.find(&next.node)?;
        program.node(node).policy.cache.as_ref()?;
        let id = self.id(next);
        let has_journal = self.before.effects.iter().any(|effect| effect.id.task == id);
        (!has_journal).then_some(WhyUnverified::Cached)
    }

    fn next(&self, task: u32) -> Option<&NextTask> {
        self.before.checkpoint.frontier.tasks.get(task as usize)
    }

    fn id(&self, next: &NextTask) -> TaskId {
        next.id(self.before.checkpoint.id, self.before.checkpoint.step)
    }

    fn position(&self, task: TaskId) -> Option<u32> {
        let mut all = (0u32..).zip(&self.before.checkpoint.frontier.tasks);
        all.find(|(_, next)| self.id(next) == task).map(|(position, _)| position)
    }

    /// Runs the superstep to its barrier, or as far as possible.
    async fn play(&self, taken: &BTreeSet<u32>) -> Take {
        let silent = Arc::new(Silent::new(Arc::clone(self.saver)));
        let recording = Arc::new(Recording::default());
        let played = self.drive(&silent, &recording, taken).await;
        let checkpoint = silent.checkpoint.lock().take();
        Take {
            notes: recording.tape.take(),
            asked: take(&mut *silent.asked.lock()),
            outcome: match (checkpoint, played) {
                (Some(checkpoint), _) => Ok(checkpoint),
                (None, Err(error)) => Err(error.to_string()),
                (None, Ok(())) => Err("it does not end".into()),
            },
            below: take(&mut *recording.below.lock()),
        }
    }

    async fn drive(
        &self,
        silent: &Arc<Silent>,
        recording: &Arc<Recording>,
        taken: &BTreeSet<u32>,
    ) -> Result<(), RunError> {
        let mut runtime = self.runtime.clone();
        runtime.saver = Some(Arc::clone(silent) as Arc<dyn Checkpointer>);
        runtime.observers = Vec::new();
        runtime.store = runtime.store.map(|store| store.unwritten());
        runtime.ambient = Arc::new(Recorded(self.recorded.id));
        let order = Order {
            limits: Limits { recursion: self.remaining, ..runtime.limits },
            metadata: self.recorded.metadata.clone(),
            mode: Mode::Replayed(Arc::clone(recording)),
            ..Order::new(Verb::Resume, self.thread.clone())
        };
        let (mut driver, _) = driver(&Arc::new(runtime), order, self.recorded.run, None, None)?;
        // It stops at its barrier; its subgraphs are not asked to stop.
        let drained = CancellationToken::new();
        drained.cancel();
        driver.stops.drain = Some(drained);
        let begin = driver.restore(self.standing(taken))?;
        driver.drive(Begin::Resume(begin.into())).await.map(drop)
    }

    /// Returns the checkpoint before the superstep as the tasks see it: with their journal, with the failures that
    /// error handlers handled, and with the recorded outcomes of the tasks that do not run.
    fn standing(&self, taken: &BTreeSet<u32>) -> Loaded {
        let mut loaded = self.before.clone();
        (loaded.results, loaded.failures) = (Vec::new(), Vec::new());
        loaded.asks.retain(|ask| !ask.is_open());
        loaded.effects.retain(|effect| effect.outcome.is_some());
        let frontier = &self.before.checkpoint.frontier.tasks;
        for ((position, next), record) in (0u32..).zip(frontier).zip(&self.recorded.tasks) {
            let task = self.id(next);
            let TaskRecord { node, writes, route, handled, .. } = record.clone();
            if taken.contains(&position) {
                let thread = below::thread(&self.before.effects, self.thread, task);
                let kept = self.recorded.frontier.kept.iter().find(|kept| kept.thread == thread).cloned();
                let (targets, emitted) = (None, None);
                loaded.results.push(TaskResult {
                    task,
                    node,
                    writes,
                    route,
                    targets,
                    kept,
                    handled,
                    emitted,
                });
            } else if let Some(handled) = handled {
                let (attempts, error) = (handled.attempts, handled.error);
                loaded.failures.push(FailureRecord { task, node, attempts, error });
            }
        }
        loaded
    }

    fn compare(&self, replayed: &Checkpoint, findings: &mut Findings) -> Result<(), CodecError> {
        // The program's topology differs as soon as anything in it has another name, so it is not compared.
        let replayed = Checkpoint { topology: self.recorded.topology, ..replayed.clone() };
        let schema = &self.runtime.program.schema;
        match compare::difference(self.recorded, &replayed, schema)? {
            Some((Some(task), difference)) => {
                findings.tasks.entry(task).or_insert(difference);
            }
            Some((None, difference)) => findings.whole = Some(difference),
            None => {}
        }
        Ok(())
    }
}
