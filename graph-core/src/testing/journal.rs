//! The journal of a thread, assembled from stored steps.

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use super::cassette::Cassette;
use super::trace::Ran;
use crate::checkpoint::secret_past;
use crate::checkpoint::{AskRecord, At, EffectRecord, NextTask, Source, StepRecord};
use crate::id::{CheckpointId, InterruptId, ThreadId};
use crate::node::{EFFECT_ARGUMENT, INSIDE, Level, Recording, What};
use crate::run::below;
use crate::state::{SecretFields, SecretTexts};

/// Assembles the recordings of a thread and its subgraphs from steps that are read in any way.
///
/// ```text
/// let mut journal = Journal::new(thread, At::Head);
/// while let Some((thread, at)) = journal.wanted() {
///     journal.add(saver.steps(&thread, at, usize::MAX).await?);
/// }
/// let cassette = journal.cassette();
/// ```
#[derive(Debug)]
pub struct Journal {
    root: ThreadId,
    wanted: Vec<(ThreadId, At)>,
    asked: Option<ThreadId>,
    /// The checkpoints of each thread, oldest first.
    held: BTreeMap<ThreadId, Vec<StepRecord>>,
}

/// A superstep that was started: the checkpoint on which it is based, with the journal of its tasks.
struct Begun<'a> {
    base: &'a StepRecord,
    /// The thread on which it ran.
    thread: &'a ThreadId,
}

impl Journal {
    /// Creates the journal of `thread` up to a checkpoint. If that is the latest one, the journal includes the
    /// unfinished work after it.
    #[must_use]
    pub fn new(thread: ThreadId, to: At) -> Self {
        Self { wanted: alloc::vec![(thread.clone(), to)], root: thread, asked: None, held: BTreeMap::new() }
    }

    /// Returns the thread whose steps are needed next, and the checkpoint from which to read them; `None` if the
    /// journal is complete.
    pub fn wanted(&mut self) -> Option<(ThreadId, At)> {
        let (thread, at) = self.wanted.pop()?;
        self.asked = Some(thread.clone());
        Some((thread, at))
    }

    /// Adds the requested steps, newest first; none if the thread does not exist.
    ///
    /// # Panics
    /// Panics if no steps were requested.
    pub fn add(&mut self, mut steps: Vec<StepRecord>) {
        let thread = self.asked.take().expect("steps are given when they are wanted");
        steps.reverse();
        if thread != self.root {
            // A subgraph that keeps its state has earlier turns, which belong to other tasks.
            let turn = steps.iter().rposition(|step| step.checkpoint.source == Source::Input);
            steps.drain(..turn.unwrap_or(0));
        }
        for Begun { base, thread } in begun(&thread, &steps) {
            let below = base.checkpoint.frontier.tasks.iter().map(|task| below_of(base, thread, task));
            self.wanted.extend(below.map(|thread| (thread, At::Head)));
        }
        self.held.insert(thread, steps);
    }

    /// Returns the recordings, in the order of the run.
    #[must_use]
    pub fn cassette(&self) -> Cassette {
        self.of_steps(self.held.get(&self.root).map_or(&[], Vec::as_slice), i64::MAX)
    }

    /// Returns the recordings of the supersteps between the checkpoint `base` and the last checkpoint of the
    /// journal, without the unfinished work after it.
    #[must_use]
    pub fn cassette_from(&self, base: CheckpointId) -> Cassette {
        let steps = self.held.get(&self.root).map_or(&[][..], Vec::as_slice);
        let from = steps.iter().position(|step| step.checkpoint.id == base).unwrap_or(0);
        self.of_steps(&steps[from..], steps.last().map_or(i64::MAX, |last| last.checkpoint.step))
    }

    /// Returns the recordings of these steps, up to the superstep `last`.
    fn of_steps(&self, steps: &[StepRecord], last: i64) -> Cassette {
        let mut recordings = Vec::new();
        self.collect(&self.root, steps, &[], &mut recordings);
        recordings.retain(|recording| recording.place[0].step <= last);
        let cassette = Cassette::new(recordings);
        cassette.deck.hide(&self.secrets());
        cassette
    }

    fn collect(&self, thread: &ThreadId, steps: &[StepRecord], within: &[Level], into: &mut Vec<Recording>) {
        for Begun { base, thread } in begun(thread, steps) {
            for task in &base.checkpoint.frontier.tasks {
                let step = base.checkpoint.step + 1;
                let mut place = within.to_vec();
                place.push(Level { node: task.node.clone(), step, each: task.cause.each() });
                of_task(base, task, &place, into);
                let below = below_of(base, thread, task);
                let steps = self.held.get(&below).map_or(&[][..], Vec::as_slice);
                self.collect(&below, steps, &place, into);
            }
        }
    }

    /// Returns the finished tasks, in the order in which they ran.
    pub(super) fn ran(&self) -> Vec<Ran> {
        let mut ran = Vec::new();
        self.collect_ran(&self.root, &[], "", &mut ran);
        ran
    }

    fn collect_ran(&self, thread: &ThreadId, at: &[i64], above: &str, into: &mut Vec<Ran>) {
        let Some(steps) = self.held.get(thread) else { return };
        for Begun { base, thread } in begun(thread, steps) {
            let place: Vec<i64> = at.iter().copied().chain([base.checkpoint.step + 1]).collect();
            let next = steps.iter().find(|step| step.checkpoint.parent == Some(base.checkpoint.id));
            for (position, task) in base.checkpoint.frontier.tasks.iter().enumerate() {
                let node = std::format!("{above}{}", task.node);
                let below = below_of(base, thread, task);
                let record = next.and_then(|next| Some((next, next.checkpoint.tasks.get(position)?)));
                if let Some((next, record)) = record.filter(|_| !task.node.is_start() && !task.node.is_end())
                {
                    let fields =
                        record.writes.iter().map(|write| next.schema.field(write.field).name.clone());
                    let mut wrote: Vec<String> = fields.collect();
                    wrote.dedup();
                    into.push(Ran {
                        at: place.clone(),
                        node: node.clone(),
                        case: record.route.as_ref().map(|route| route.case.clone()),
                        wrote,
                        failed: record.handled.as_ref().map(|handled| handled.error.message.clone()),
                    });
                }
                self.collect_ran(&below, &place, &std::format!("{node}/"), into);
            }
        }
    }

    /// Returns the texts of all values of secret fields.
    #[must_use]
    pub fn secrets(&self) -> SecretTexts {
        let steps = || self.held.values().flatten();
        let fields = SecretFields::of(steps().map(|step| &*step.schema));
        let mut secrets = SecretTexts::default();
        steps().for_each(|step| secret_past::learn(step, &fields, &mut secrets));
        secrets
    }
}

/// Returns the supersteps of a branch that reached their barrier, and the unfinished one. It leaves out supersteps
/// that were replaced by an input, another branch or an edit.
fn begun<'a>(thread: &'a ThreadId, steps: &'a [StepRecord]) -> Vec<Begun<'a>> {
    let next = |position: usize| steps.get(position + 1);
    let all = steps.iter().enumerate().filter_map(|(position, base)| match next(position) {
        None => Some(Begun { base, thread }),
        Some(next) if next.checkpoint.source == Source::Loop => Some(Begun { base, thread: &next.thread }),
        Some(_) => None,
    });
    all.collect()
}

/// Returns the thread of the subgraph that a task runs, if it runs one.
fn below_of(base: &StepRecord, thread: &ThreadId, task: &NextTask) -> ThreadId {
    below(&base.work.effects, thread, task.id(base.checkpoint.id, base.checkpoint.step))
}

fn of_task(base: &StepRecord, task: &NextTask, place: &[Level], into: &mut Vec<Recording>) {
    let id = task.id(base.checkpoint.id, base.checkpoint.step);
    let is_own = |effect: &&EffectRecord| {
        // Playing an effect does not reach the effects inside it. Rows of the framework are not effects.
        effect.id.task == id && !effect.id.name.contains(INSIDE) && effect.id.is_users()
    };
    for EffectRecord { id, outcome, .. } in base.work.effects.iter().filter(is_own) {
        if let Some(outcome) = outcome.clone() {
            let what = What::Effect { name: id.name.clone(), key: id.key.clone(), outcome };
            into.push(Recording { place: place.to_vec(), what, occurrence: id.occurrence });
        }
    }
    let asked =
        |ask: &&AskRecord| ask.task == id && ask.path.is_empty() && ask.argument != Some(EFFECT_ARGUMENT);
    let mut of_key: BTreeMap<&str, u32> = BTreeMap::new();
    for ask in base.work.asks.iter().filter(asked) {
        let earlier = of_key.entry(&ask.key).or_default();
        let derived = |occurrence| InterruptId::derive(id, &ask.key, occurrence, ask.question.as_str());
        let occurrence = (0..=*earlier).find(|occurrence| derived(*occurrence) == ask.id).unwrap_or(*earlier);
        *earlier += 1;
        if let Some(answer) = ask.answer.clone() {
            let what = What::Answer { key: ask.key.clone(), question: ask.question.clone(), answer };
            into.push(Recording { place: place.to_vec(), what, occurrence });
        }
    }
}
