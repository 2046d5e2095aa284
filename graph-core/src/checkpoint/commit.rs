//! Requests to commit a checkpoint to a store, and the store's replies.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::emitted::Emitted;
use super::recorded::Recorded;
use super::{AskRecord, Checkpoint, EffectRecord, FailureRecord, Loaded, TaskResult};
use crate::id::{CheckpointId, NodeName, ThreadId};

/// A checkpoint to store.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The thread.
    pub thread: ThreadId,
    /// The graph to which the thread belongs.
    pub graph: NodeName,
    /// The head that the writer expects; `None` for a new thread. The commit happens only if it is still the head.
    pub expected: Option<CheckpointId>,
    /// The records that the writer knows on that head. The commit happens only if there are no others. `None` for a
    /// commit that does not depend on them: an input, which discards the superstep, or a branch.
    pub recorded: Option<Recorded>,
    /// The checkpoint of a run's input, which [`checkpoint`](Self::checkpoint) continues: both are stored, in this
    /// order, or neither. `None` for a commit of one checkpoint.
    pub input: Option<Arc<Checkpoint>>,
    /// The checkpoint. It is shared, so that a store that keeps it unchanged copies nothing.
    pub checkpoint: Arc<Checkpoint>,
    /// Finished work of the next superstep that an edit carries over. It is stored in the same transaction as the
    /// checkpoint. Runs carry none.
    pub carried: Option<Box<Carried>>,
    /// The events that the tasks of the superstep emitted, by the tasks' positions, if the run keeps them. They are
    /// stored with the checkpoint or not at all.
    pub emitted: Vec<(u32, Emitted)>,
    /// `true` if the run ends with this checkpoint. The commit is then as durable as a
    /// [flush](super::Checkpointer::flush), and no flush follows.
    pub is_last: bool,
}

impl Commit {
    /// Returns the checkpoint that continues the head: that of the input, if the commit has one.
    #[must_use]
    pub fn first(&self) -> &Arc<Checkpoint> {
        self.input.as_ref().unwrap_or(&self.checkpoint)
    }
}

/// Work that a commit stores on top of its own checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Results of finished tasks.
    pub results: Vec<TaskResult>,
    /// Failures of tasks that have no result.
    pub failures: Vec<FailureRecord>,
    /// Questions, answered or not.
    pub asks: Vec<AskRecord>,
    /// The effect journal.
    pub effects: Vec<EffectRecord>,
}

impl Carried {
    /// Returns `true` if there is no work.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.results.is_empty() && self.failures.is_empty() && self.asks.is_empty() && self.effects.is_empty()
    }
}

/// The result of a commit.
#[derive(Clone, Debug)]
pub enum Committed {
    /// The checkpoint was stored.
    New,
    /// This checkpoint was already stored, by an earlier attempt whose outcome was unknown.
    Already,
    /// Another driver of the same run finished this superstep first; this is its checkpoint.
    Adopt(Box<Loaded>),
    /// The head is still the expected one, but results or effects were recorded on it that the writer [does not
    /// know](Commit::recorded). Nothing was stored. This is the head with all records: the driver must use them,
    /// run the remaining tasks with the journal, and commit again.
    Outrun(Box<Loaded>),
    /// Another run moved the head to this checkpoint.
    Conflict {
        /// The current head.
        head: Option<CheckpointId>,
    },
}
