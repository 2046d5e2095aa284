//! All fields and texts that were ever secret on a thread and in its subgraphs, for code that shows data of them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{At, StepRecord, below};
use crate::id::{CheckpointId, Fingerprint, InterruptId, NodeName, ThreadId};
use crate::state::{Logged, LoggedWrite, Schema, SecretFields, SecretTexts};

/// The numbers of checkpoints to read at once: where most of them are known, and where none is.
const PAGES: [usize; 2] = [16, 512];

/// Learns which fields of a thread and its subgraphs are secret, by all schemas that they have had, and which texts
/// those ever held. It is given the steps of the threads, from whatever source:
///
/// ```
/// # extern crate superstep_core as superstep;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), superstep::checkpoint::StoreError> {
/// use superstep::checkpoint::{At, CheckpointerExt, MemorySaver, SecretPast};
///
/// let saver = MemorySaver::new();
/// let mut past = SecretPast::of("rust".into(), [At::Head]);
/// while let Some((thread, from, limit)) = past.wanted() {
///     past.add(&saver.steps(&thread, from, limit).await?);
/// }
/// assert_eq!(past.texts().hide_text("sesame"), "sesame");
/// # Ok(())
/// # }
/// ```
///
/// A value that a task emits before its result is stored is not known to be secret, and the values that secret fields
/// had in pruned checkpoints are not known either.
#[derive(Clone, Debug, Default)]
pub struct SecretPast {
    /// Where looking begins.
    ends: Vec<(ThreadId, At)>,
    wanted: Vec<Wanted>,
    reading: Option<Wanted>,
    /// The threads that are looked at in this round.
    met: BTreeSet<ThreadId>,
    /// The checkpoints that were learned from, with all that they continue.
    known: BTreeSet<CheckpointId>,
    schemas: BTreeMap<Fingerprint, Arc<Schema>>,
    fields: SecretFields,
    texts: SecretTexts,
    /// The questions that were met on the threads whose nodes asked them.
    asked: BTreeSet<InterruptId>,
}

#[derive(Clone, Debug)]
struct Wanted {
    thread: ThreadId,
    from: At,
    limit: usize,
    /// The thread that continues the first of them.
    by: ThreadId,
}

impl SecretPast {
    /// That of a thread, of what led to these checkpoints of it, and of the threads above it.
    #[must_use]
    pub fn of(thread: ThreadId, to: impl IntoIterator<Item = At>) -> Self {
        let above = core::iter::successors(thread.above(), ThreadId::above);
        let above = above.map(|above| (above, At::Head));
        let ends = to.into_iter().map(|at| (thread.clone(), at)).chain(above).collect();
        let mut past = Self { ends, ..Self::default() };
        past.look_again();
        past
    }

    /// Wants what may have been stored since it was complete.
    pub fn look_again(&mut self) {
        self.reading = None;
        self.met.clear();
        let first = usize::from(self.known.is_empty());
        let all = self.ends.iter().map(|(thread, from)| Wanted {
            thread: thread.clone(),
            from: from.clone(),
            limit: PAGES[first],
            by: thread.clone(),
        });
        self.wanted = all.collect();
    }

    /// Wants everything once more, after something of it could not be read. What it has learned it keeps.
    pub fn begin_anew(&mut self) {
        self.known.clear();
        self.look_again();
    }

    /// The thread whose steps it needs next, from which checkpoint on, and how many; `None` when it is complete.
    pub fn wanted(&mut self) -> Option<(ThreadId, At, usize)> {
        let wanted = self.wanted.pop()?;
        self.reading = Some(wanted.clone());
        Some((wanted.thread, wanted.from, wanted.limit))
    }

    /// Takes the steps that it wanted, newest first; none where the thread is not there.
    ///
    /// # Panics
    /// When it wanted none.
    pub fn add(&mut self, steps: &[StepRecord]) {
        let Wanted { thread, limit, mut by, .. } =
            self.reading.take().expect("steps are given when they are wanted");
        if self.meet_schemas(steps) && !self.known.is_empty() {
            // What was read before has values of fields of which nobody knew then that they are secret.
            return self.begin_anew();
        }
        let known = steps.iter().position(|step| self.known.contains(&step.checkpoint.id));
        // Of a known one, what is on top of it may be new.
        for step in &steps[..known.map_or(steps.len(), |known| known + 1)] {
            learn(step, &self.fields, &mut self.texts);
            let own = step.work.asks.iter().filter(|ask| ask.path.is_empty());
            self.asked.extend(own.map(|ask| ask.id));
            self.want_below(step, &by);
            self.known.insert(step.checkpoint.id);
            by = step.thread.clone();
        }
        let last = steps.last().filter(|_| known.is_none() && steps.len() == limit);
        if let Some(parent) = last.and_then(|last| last.checkpoint.parent) {
            self.wanted.push(Wanted { thread, from: At::Id(parent), limit: PAGES[1], by });
        }
    }

    /// The fields that are secret.
    #[must_use]
    pub fn fields(&self) -> &SecretFields {
        &self.fields
    }

    /// The texts that they have held.
    #[must_use]
    pub fn texts(&self) -> &SecretTexts {
        &self.texts
    }

    /// Returns `true` if the thread is known whose node asked the question; `path` leads to that node, as the question
    /// says. A question of a subgraph stays on the threads above when the subgraph's own thread is gone. Its secrets
    /// are then unknown, and nothing of it may be shown.
    #[must_use]
    pub fn knows_who_asked(&self, question: InterruptId, path: &[NodeName]) -> bool {
        path.is_empty() || self.asked.contains(&question)
    }

    /// Adds the schemas of these steps, and returns `true` if the set of secret fields has changed by them.
    fn meet_schemas(&mut self, steps: &[StepRecord]) -> bool {
        let known = self.schemas.len();
        for step in steps {
            self.schemas.entry(step.checkpoint.schema).or_insert_with(|| Arc::clone(&step.schema));
        }
        if self.schemas.len() == known {
            return false;
        }
        let fields = SecretFields::of(self.schemas.values().map(|schema| &**schema));
        let grown = fields != self.fields;
        self.fields = fields;
        grown
    }

    /// Wants the threads of the subgraphs that the tasks on top of a checkpoint run, on the thread `by` that continues it or
    /// on the one that wrote it, and of those that keep their state there. Most tasks run none. Of a pruned checkpoint, the
    /// tasks are known that have questions from below.
    fn want_below(&mut self, step: &StepRecord, by: &ThreadId) {
        let StepRecord { checkpoint, work, thread, .. } = step;
        let kept = checkpoint.frontier.kept.iter().map(|kept| kept.thread.clone());
        let tasks = checkpoint.frontier.tasks.iter().filter(|task| !task.node.is_start());
        let tasks = tasks.map(|task| task.id(checkpoint.id, checkpoint.step));
        let asked = work.asks.iter().filter(|ask| !ask.path.is_empty()).map(|ask| ask.task);
        let tasks: BTreeSet<_> = tasks.chain(asked).collect();
        let run =
            tasks.into_iter().flat_map(|task| [by, thread].map(|on| below::thread(&work.effects, on, task)));
        for thread in run.chain(kept).collect::<BTreeSet<_>>() {
            if self.met.insert(thread.clone()) {
                let by = thread.clone();
                self.wanted.push(Wanted { thread, from: At::Head, limit: PAGES[1], by });
            }
        }
    }
}

/// Learns what a superstep wrote to secret fields, or is about to write.
pub(crate) fn learn(step: &StepRecord, fields: &SecretFields, texts: &mut SecretTexts) {
    if fields.is_empty() {
        return;
    }
    let StepRecord { checkpoint, schema, work, .. } = step;
    for change in checkpoint.changes.iter().filter(|change| fields.has(schema.field(change.field))) {
        change.ops.iter().for_each(|op| texts.learn(op.operand()));
    }
    let mut learn_write = |write: &LoggedWrite| {
        if fields.has(schema.field(write.field)) {
            texts.learn(match &write.write {
                Logged::Op(op) => op.operand(),
                Logged::Reduce(argument) => argument,
            });
        }
    };
    let ran = checkpoint.tasks.iter().flat_map(|task| &task.writes);
    let pending = work.results.iter().flat_map(|result| &result.writes);
    ran.chain(pending).for_each(&mut learn_write);
    // The input of a run is the writes of START.
    let starts = checkpoint.frontier.tasks.iter().filter(|task| task.node.is_start());
    for input in starts.filter_map(|task| task.input.as_ref()) {
        if let Ok(writes) = input.decode::<Vec<LoggedWrite>>() {
            writes.iter().for_each(&mut learn_write);
        }
    }
}
