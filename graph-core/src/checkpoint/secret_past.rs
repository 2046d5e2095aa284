//! All fields and texts that were ever secret on a thread and in its subgraphs, for code that displays its data.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{At, StepRecord, below};
use crate::id::{CheckpointId, Fingerprint, InterruptId, NodeName, ThreadId};
use crate::state::{Logged, LoggedWrite, Schema, SecretFields, SecretTexts};

/// The number of checkpoints to read at once: if most of them are known, and if none is.
const PAGES: [usize; 2] = [16, 512];

/// Collects the fields of a thread and its subgraphs that are secret in any of their schemas, and all texts that
/// these fields ever contained. The caller provides the steps of the threads, from any source:
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
/// It does not know values that a task emits before its result is stored, nor the values of secret fields in pruned
/// checkpoints.
#[derive(Clone, Debug, Default)]
pub struct SecretPast {
    /// The checkpoints at which reading begins.
    ends: Vec<(ThreadId, At)>,
    wanted: Vec<Wanted>,
    reading: Option<Wanted>,
    /// The threads that are read in this round.
    met: BTreeSet<ThreadId>,
    /// The checkpoints that were read, together with all that they continue.
    known: BTreeSet<CheckpointId>,
    schemas: BTreeMap<Fingerprint, Arc<Schema>>,
    fields: SecretFields,
    texts: SecretTexts,
    /// The questions that were found on the threads of the nodes that asked them.
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
    /// Creates the secrets of a thread up to these checkpoints, and of the threads above it.
    #[must_use]
    pub fn of(thread: ThreadId, to: impl IntoIterator<Item = At>) -> Self {
        let above = core::iter::successors(thread.above(), ThreadId::above);
        let above = above.map(|above| (above, At::Head));
        let ends = to.into_iter().map(|at| (thread.clone(), at)).chain(above).collect();
        let mut past = Self { ends, ..Self::default() };
        past.look_again();
        past
    }

    /// Requests the steps that may have been stored since it was complete.
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

    /// Requests all steps again after some could not be read. The secrets found so far are kept.
    pub fn start_over(&mut self) {
        self.known.clear();
        self.look_again();
    }

    /// Returns the thread whose steps are needed next, the checkpoint from which to read, and their number; `None`
    /// if it is complete.
    pub fn wanted(&mut self) -> Option<(ThreadId, At, usize)> {
        let wanted = self.wanted.pop()?;
        self.reading = Some(wanted.clone());
        Some((wanted.thread, wanted.from, wanted.limit))
    }

    /// Adds the requested steps, newest first; none if the thread does not exist.
    ///
    /// # Panics
    /// Panics if no steps were requested.
    pub fn add(&mut self, steps: &[StepRecord]) {
        let Wanted { thread, limit, mut by, .. } =
            self.reading.take().expect("steps are given when they are wanted");
        if self.meet_schemas(steps) && !self.known.is_empty() {
            // The steps read before may contain values of fields that were not known to be secret.
            return self.start_over();
        }
        let known = steps.iter().position(|step| self.known.contains(&step.checkpoint.id));
        // A known step may have new work on top of it.
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

    /// Returns the secret fields.
    #[must_use]
    pub fn fields(&self) -> &SecretFields {
        &self.fields
    }

    /// Returns the texts that secret fields have contained.
    #[must_use]
    pub fn texts(&self) -> &SecretTexts {
        &self.texts
    }

    /// Returns `true` if the thread of the node that asked the question was read. `path` leads to that node, as in
    /// the question. A question of a subgraph stays on the threads above after the subgraph's own thread is
    /// deleted; its secrets are then unknown, and none of it may be shown.
    #[must_use]
    pub fn knows_who_asked(&self, question: InterruptId, path: &[NodeName]) -> bool {
        path.is_empty() || self.asked.contains(&question)
    }

    /// Adds the schemas of these steps, and returns `true` if they changed the set of secret fields.
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

    /// Requests the threads of the subgraphs that run in the tasks on top of a checkpoint, on the thread `by` that
    /// continues it or on the one that wrote it, and of those that keep their state there. Most tasks run none. For
    /// a pruned checkpoint, only the tasks with questions from below are known.
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

/// Adds the texts that a superstep wrote, or is about to write, to secret fields.
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
    // The input of a run is stored as the writes of START.
    let starts = checkpoint.frontier.tasks.iter().filter(|task| task.node.is_start());
    for input in starts.filter_map(|task| task.input.as_ref()) {
        if let Ok(writes) = input.decode::<Vec<LoggedWrite>>() {
            writes.iter().for_each(&mut learn_write);
        }
    }
}
