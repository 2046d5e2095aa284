//! Plans an import: which threads and checkpoints are stored already, and which are new.

use std::collections::HashMap;

use superstep_core::checkpoint::{Carried, Checkpoint, EffectRecord, StoreError, TaskResult};
use superstep_core::id::{CheckpointId, ThreadId};

use super::document::{CheckpointPart, Document, ThreadPart, WorkPart};
use crate::error::corrupt;

/// The rows into which a document is imported.
pub(crate) trait Target {
    /// Returns the row of a thread.
    fn thread(&self, name: &ThreadId) -> Result<Option<i64>, StoreError>;

    /// Returns the place of a checkpoint that is stored already.
    fn taken(&self, id: CheckpointId) -> Result<Option<Taken>, StoreError>;

    fn checkpoint(&self, seq: i64) -> Result<Checkpoint, StoreError>;

    /// Returns the stored work of a thread on a checkpoint.
    fn work(&self, thread: i64, seq: i64) -> Result<Carried, StoreError>;
}

/// The place of a stored checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) seq: i64,
    /// The row of the thread on which it was written.
    pub(crate) owner: i64,
    /// The name of that thread.
    pub(crate) name: ThreadId,
}

/// The plan of an import.
pub(crate) struct Plan<'d> {
    pub(crate) document: &'d Document,
    /// The new name of the thread.
    pub(crate) name: &'d ThreadId,
    /// The rows of the document's threads.
    pub(crate) rows: Vec<Row>,
    /// The checkpoints that are already stored.
    pub(crate) held: HashMap<CheckpointId, i64>,
}

/// The row of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    New(i64),
    /// The thread already exists completely.
    Held(i64),
    /// The thread existed only for the threads that share its past, and becomes complete.
    Adopted(i64),
    /// Nothing is written for the thread.
    None,
}

impl Row {
    /// Returns the row of a thread that is created or completed.
    pub(crate) fn written(self) -> Option<i64> {
        match self {
            Self::New(id) | Self::Adopted(id) => Some(id),
            Self::Held(_) | Self::None => None,
        }
    }

    pub(crate) fn id(self) -> Option<i64> {
        match self {
            Self::New(id) | Self::Held(id) | Self::Adopted(id) => Some(id),
            Self::None => None,
        }
    }
}

impl<'d> Plan<'d> {
    /// Plans to store a document as the thread `name`. `new` are the rows of new threads. Errors are detected here, before
    /// anything is written.
    pub(crate) fn of(
        target: &impl Target,
        document: &'d Document,
        name: &'d ThreadId,
        new: impl IntoIterator<Item = i64>,
    ) -> Result<Self, StoreError> {
        let mut plan = Self { document, name, rows: Vec::new(), held: HashMap::new() };
        for (next, part) in new.into_iter().zip(&document.threads) {
            let name = plan.renamed(&part.name);
            let held = match part.head {
                Some(_) => target.thread(&name)?,
                None => None,
            };
            plan.rows.push(match held {
                // A subgraph's thread may have been imported as the past of another one, without the thread above it.
                Some(held) if document.is_own(part) && name.is_below() => Row::Adopted(held),
                Some(_) if document.is_own(part) => return Err(StoreError::ThreadExists(name)),
                Some(held) => Row::Held(held),
                None => Row::New(next),
            });
        }
        for part in &document.checkpoints {
            plan.find(target, part)?;
        }
        for part in &document.checkpoints {
            for work in &part.work {
                if let (Row::Adopted(thread), Some(seq)) =
                    (plan.rows[work.thread], plan.held.get(&part.checkpoint.id))
                {
                    let held = target.work(thread, *seq)?;
                    if !held.is_empty() && held != plan.work(work) {
                        return Err(StoreError::CheckpointDiffers(part.checkpoint.id));
                    }
                }
            }
        }
        // A thread that only contributes a shared past is not needed if all of that already exists.
        for (position, row) in plan.rows.iter_mut().enumerate() {
            let mut own = document.checkpoints.iter().filter(|part| part.thread == position);
            if document.threads[position].head.is_none()
                && own.all(|part| plan.held.contains_key(&part.checkpoint.id))
            {
                *row = Row::None;
            }
        }
        Ok(plan)
    }

    /// Looks for a checkpoint of the document.
    fn find(&mut self, target: &impl Target, part: &CheckpointPart) -> Result<(), StoreError> {
        let id = part.checkpoint.id;
        let Some(Taken { seq, owner, name }) = target.taken(id)? else {
            return match self.rows[part.thread] {
                Row::Held(_) => {
                    Err(StoreError::ThreadExists(self.document.threads[part.thread].name.clone()))
                }
                _ => Ok(()),
            };
        };
        // A shared checkpoint may have been imported with another thread.
        let is_remnant = name.before_deletion() != name;
        let is_left = is_remnant || is_orphan(target, &name)?;
        if !is_left && self.document.is_own(&self.document.threads[part.thread]) {
            return Err(StoreError::CheckpointExists(id));
        }
        if target.checkpoint(seq)? != self.checkpoint(part) {
            return Err(StoreError::CheckpointDiffers(id));
        }
        self.held.insert(id, seq);
        if is_remnant
            && !self.rows.contains(&Row::Adopted(owner))
            && matches!(self.rows[part.thread], Row::New(_))
        {
            self.rows[part.thread] = Row::Adopted(owner);
        }
        Ok(())
    }

    fn renames(&self) -> bool {
        self.document.root().name != *self.name
    }

    /// Returns a checkpoint with the new names of threads.
    pub(crate) fn checkpoint(&self, part: &CheckpointPart) -> Checkpoint {
        let mut checkpoint = part.checkpoint.clone();
        if self.renames() {
            for kept in &mut checkpoint.frontier.kept {
                kept.thread = self.renamed(&kept.thread);
            }
        }
        checkpoint
    }

    /// Returns work with the new names of threads.
    pub(crate) fn work(&self, part: &WorkPart) -> Carried {
        let mut work = part.carried();
        if self.renames() {
            let kept = |result: &mut TaskResult| {
                if let Some(kept) = &mut result.kept {
                    kept.thread = self.renamed(&kept.thread);
                }
            };
            work.results.iter_mut().for_each(kept);
            let linked = |effect: EffectRecord| match effect.subgraph() {
                Some(thread) => effect.with_subgraph(&self.renamed(&thread)),
                None => effect,
            };
            work.effects = work.effects.into_iter().map(linked).collect();
        }
        work
    }

    /// Returns the name of a thread of the document once its root thread has its new name.
    pub(crate) fn renamed(&self, thread: &ThreadId) -> ThreadId {
        let ThreadPart { name: root, .. } = self.document.root();
        match thread.as_str().strip_prefix(root.as_str()) {
            Some(below) if thread.is_on_or_below(root) => format!("{}{below}", self.name).into(),
            _ => thread.clone(),
        }
    }
}

/// Returns `true` if this is the thread of a subgraph whose root does not exist: it is kept only for the threads that
/// continue from it.
fn is_orphan(target: &impl Target, thread: &ThreadId) -> Result<bool, StoreError> {
    let root = root_of(thread);
    Ok(root != *thread && target.thread(&root)?.is_none())
}

/// Returns the thread at the top.
pub(crate) fn root_of(thread: &ThreadId) -> ThreadId {
    let mut root = thread.clone();
    while let Some(above) = root.above() {
        root = above;
    }
    root
}

/// The error for a checkpoint that the document lacks.
pub(crate) fn missing(id: CheckpointId) -> StoreError {
    corrupt("the export", format_args!("checkpoint {id} is missing"))
}
