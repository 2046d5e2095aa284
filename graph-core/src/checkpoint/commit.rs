//! What a driver asks a store to commit, and what it is told.

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
    /// The graph it belongs to.
    pub graph: NodeName,
    /// The head that the writer knows; `None` for a new thread. The commit happens only if it still is.
    pub expected: Option<CheckpointId>,
    /// What the writer knows to be recorded on that head: the commit happens only if nothing else is. `None` for a commit
    /// that does not go by it: an input, which gives the superstep up, and a branch.
    pub recorded: Option<Recorded>,
    /// The checkpoint. Shared, so that a store that keeps it as it is copies nothing.
    pub checkpoint: Arc<Checkpoint>,
    /// What is finished already of the superstep that follows, stored in the same transaction as the
    /// checkpoint that it is on top of: an edit takes it along. A run has none.
    pub carried: Option<Box<Carried>>,
    /// What the tasks of the superstep emitted, by their positions, where its run keeps that. Stored with the
    /// checkpoint or not at all.
    pub emitted: Vec<(u32, Emitted)>,
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
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.results.is_empty() && self.failures.is_empty() && self.asks.is_empty() && self.effects.is_empty()
    }
}

/// What became of a commit.
#[derive(Clone, Debug)]
pub enum Committed {
    /// It was stored.
    New,
    /// This very checkpoint was stored before: an earlier attempt whose outcome was not known.
    Already,
    /// Another driver of the same run finished this superstep first; this is its checkpoint.
    Adopt(Box<Loaded>),
    /// The head is still the one that the writer knows, and results or effects were recorded on it that the writer
    /// [does not know](Commit::recorded). Nothing was stored. This is the head with all of them: use those, run what is
    /// left to run with the journal, and commit again.
    Outrun(Box<Loaded>),
    /// Another run moved the head, to this checkpoint.
    Conflict {
        /// The head now.
        head: Option<CheckpointId>,
    },
}
