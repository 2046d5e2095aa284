//! The checkpoints of a thread with all its branches, newest first, read as far as they are needed.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use superstep_core::checkpoint::{At, Checkpointer, CheckpointerExt, StoreError, Summary};
use superstep_core::id::{CheckpointId, ThreadId};

use crate::work::BRANCH_TIP;

/// The number of checkpoints that are read at once.
const PAGE: usize = 64;

/// A walk back from the head of a thread, and from the ends of the branches that it has left.
///
/// A copy from which a branch begins names the head of that time, so each end is known before it is reached.
pub(super) struct Branches {
    saver: Arc<dyn Checkpointer>,
    thread: ThreadId,
    walks: Vec<Walk>,
    seen: HashSet<CheckpointId>,
}

/// The part of a branch that was read, newest first, and the checkpoint before it.
struct Walk {
    read: VecDeque<Summary>,
    next: Option<At>,
}

impl Branches {
    pub(super) fn new(saver: &Arc<dyn Checkpointer>, thread: &ThreadId) -> Self {
        let walks = vec![Walk { read: VecDeque::new(), next: Some(At::Head) }];
        Self { saver: Arc::clone(saver), thread: thread.clone(), walks, seen: HashSet::new() }
    }

    /// Returns the next older checkpoint; `None` after the oldest.
    pub(super) async fn next(&mut self) -> Result<Option<Summary>, StoreError> {
        loop {
            for walk in &mut self.walks {
                if walk.read.is_empty()
                    && let Some(from) = walk.next.take()
                {
                    walk.read = self.saver.history(&self.thread, from, PAGE).await?.into();
                    walk.next = walk.read.back().and_then(|last| last.parent).map(At::Id);
                }
            }
            self.walks.retain(|walk| !walk.read.is_empty());
            let newest = self.walks.iter_mut().max_by_key(|walk| walk.read.front().map(|first| first.seq));
            let Some(summary) = newest.and_then(|walk| walk.read.pop_front()) else { return Ok(None) };
            if !self.seen.insert(summary.id) {
                // Two branches meet: one walk is enough.
                self.end(&summary);
                continue;
            }
            let tip = summary.metadata.get(BRANCH_TIP).and_then(|tip| tip.decode::<String>().ok());
            if let Some(tip) = tip.and_then(|tip| tip.parse().ok()) {
                self.walks.push(Walk { read: VecDeque::new(), next: Some(At::Id(tip)) });
            }
            return Ok(Some(summary));
        }
    }

    /// Ends the walk that stands before the parent of a checkpoint that another walk has returned.
    fn end(&mut self, met: &Summary) {
        let stands = |walk: &Walk| match walk.read.front() {
            Some(next) => Some(next.id) == met.parent,
            None => walk.next == met.parent.map(At::Id),
        };
        if let Some(at) = self.walks.iter().rposition(stands) {
            self.walks.remove(at);
        }
    }
}
