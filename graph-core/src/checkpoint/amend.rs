//! Checkpoints that are added to a thread without a run: copies to branch from, and edits.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::below;
use super::{
    AskRecord, CONFIGURATION, Carried, Checkpoint, EffectId, EffectRecord, FailureRecord, IDEMPOTENCY_KEY,
    Loaded, NextTask, Source, StoreError, TaskRecord, TaskResult,
};
use crate::id::{CheckpointId, EDIT_NAME, InterruptId, NodeName, RunId, TaskId, ThreadId};
use crate::state::{Change, Json, LoggedWrite};

impl Checkpoint {
    /// Returns a copy of this checkpoint that becomes the head of its thread, where a branch begins without
    /// unfinished work.
    ///
    /// # Errors
    /// Returns an error if the checkpoint was pruned; the error names `thread`.
    pub fn branched(&self, id: CheckpointId, thread: &ThreadId) -> Result<Self, StoreError> {
        match self.source {
            Source::Pruned => Err(StoreError::pruned(thread, self.id)),
            _ => Ok(Self { id, source: Source::Fork, ..self.clone() }),
        }
    }

    /// Returns the metadata that a continuation of this checkpoint takes over: the idempotency key of its request, and
    /// its configuration.
    pub(crate) fn of_request(&self) -> BTreeMap<String, Json> {
        let entries = [IDEMPOTENCY_KEY, CONFIGURATION].into_iter();
        let entries = entries.filter_map(|name| self.metadata.get_key_value(name));
        entries.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns a checkpoint on top of this one, for an edit that writes `writes` and changes the state by
    /// `changes`. The next tasks stay the same. Fields and nodes are those of this checkpoint's schema and
    /// topology.
    #[must_use]
    pub fn edited(
        &self,
        id: CheckpointId,
        run: RunId,
        writes: Vec<LoggedWrite>,
        changes: Vec<Change>,
    ) -> Self {
        let node = EDIT_NAME.into();
        Self {
            id,
            parent: Some(self.id),
            run,
            step: self.step + 1,
            source: Source::Update,
            schema: self.schema,
            topology: self.topology,
            changes,
            tasks: vec![TaskRecord { node, writes, route: None, targets: Vec::new(), handled: None }],
            frontier: self.frontier.clone(),
            metadata: self.of_request(),
        }
    }
}

/// The properties of the target of a [`Carrier`] that a checkpoint does not contain.
pub trait Onto: Sync {
    /// Converts stored writes to the schema of the target. Returns `None` if they cannot be converted; their task
    /// then runs again, with its journal.
    fn writes(&self, stored: &[LoggedWrite]) -> Option<Vec<LoggedWrite>>;

    /// Returns `true` if the node runs a subgraph.
    fn runs_subgraph(&self, node: &NodeName) -> bool;
}

/// Carries the work of a checkpoint's next tasks over to another checkpoint, where the tasks have other ids:
/// results, failures, questions with their answers, effects, and the threads of their subgraphs.
pub struct Carrier<'l> {
    thread: &'l ThreadId,
    loaded: &'l Loaded,
    onto: &'l dyn Onto,
    /// The work carried over so far.
    pub carried: Carried,
}

impl<'l> Carrier<'l> {
    /// Creates an empty carrier for the checkpoint `loaded` of `thread`.
    #[must_use]
    pub fn new(thread: &'l ThreadId, loaded: &'l Loaded, onto: &'l dyn Onto) -> Self {
        Self { thread, loaded, onto, carried: Carried::default() }
    }

    /// Carries over the work of all tasks, to the checkpoint `id` that an edit puts on top of theirs.
    #[must_use]
    pub fn all(mut self, id: CheckpointId) -> Carried {
        let loaded = self.loaded;
        for next in &loaded.checkpoint.frontier.tasks {
            self.carry(next, next.id(id, loaded.checkpoint.step + 1));
        }
        self.carried
    }

    /// Carries over the work of `next`, which becomes the task `after`.
    pub fn carry(&mut self, next: &NextTask, after: TaskId) {
        let Self { thread, loaded, onto, carried } = self;
        let before = next.id(loaded.checkpoint.id, loaded.checkpoint.step);
        let results = loaded.results.iter().filter(|result| result.task == before);
        carried.results.extend(results.filter_map(|result| {
            let writes = onto.writes(&result.writes)?;
            Some(TaskResult { task: after, writes, ..result.clone() })
        }));
        let failures = loaded.failures.iter().filter(|failure| failure.task == before);
        carried.failures.extend(failures.map(|failure| FailureRecord { task: after, ..failure.clone() }));
        let asks = loaded.asks.iter().filter(|ask| ask.task == before);
        carried.asks.extend(asks.filter_map(|ask| move_ask(ask, after)));
        let effects = loaded.effects.iter().filter(|effect| effect.id.task == before);
        carried.effects.extend(effects.map(|effect| EffectRecord {
            id: EffectId { task: after, ..effect.id.clone() },
            ..effect.clone()
        }));
        if onto.runs_subgraph(&next.node) {
            let thread = below::thread(&loaded.effects, thread, before);
            carried.effects.retain(|effect| effect.id != below::link(after));
            carried.effects.push(below::linked(after, &thread));
        }
    }
}

impl core::fmt::Debug for Carrier<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Carrier").field("carried", &self.carried).finish_non_exhaustive()
    }
}

/// Returns the question with its id for another task. Returns `None` if its id does not match its key and text, so
/// that the task has to ask it again: only the id distinguishes several questions with the same key and text. A
/// question of a subgraph keeps its id.
fn move_ask(ask: &AskRecord, task: TaskId) -> Option<AskRecord> {
    if !ask.path.is_empty() {
        return Some(AskRecord { task, ..ask.clone() });
    }
    let id = ask.id_of(task, ask.occurrence()?);
    Some(AskRecord { id, task, ..ask.clone() })
}

impl AskRecord {
    /// Returns the id of the question if the task `task` asks it.
    pub(crate) fn id_of(&self, task: TaskId, occurrence: u32) -> InterruptId {
        InterruptId::derive(task, &self.key, occurrence, self.question.as_str())
    }

    /// Returns the number of earlier questions of its task with the same key and text; `None` if the id does not
    /// match any number.
    pub(crate) fn occurrence(&self) -> Option<u32> {
        (0..MOST_ALIKE).find(|occurrence| self.id_of(self.task, *occurrence) == self.id)
    }
}

/// The maximum number of questions of a task under one key.
const MOST_ALIKE: u32 = 4096;
