//! Rewind, redo and fork of sessions with their files.
//!
//! ```text
//! Rewind::plan ──▶ shows what would change ──▶ Rewind::apply ──▶ the thread continues at the earlier checkpoint,
//!                                                    │            and the files are as they were there
//!                                                    ▼
//!                                                  redo          back again, until the next message
//! ```
//!
//! Only paths that calls of the session or of its agents have changed are taken back. A file that was also changed by
//! others is named, and stays as it is unless the caller [includes](Rewind::include_foreign) it.
//!
//! An agent in the background works on a thread of its own, also while the session does. Its changes are the session's
//! from the message of its end on, and before if its thread is in the store of the session. Stop it before a rewind: what
//! it changes afterwards stays.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use superstep_core::checkpoint::ThreadSummary;
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::run::{Graph, Past, Thread, ThreadError};

use crate::agents::{AGENT, BackgroundAgent};
use crate::node::{before_open_calls, taken_at};
use crate::snapshot::{
    Change, ChangedFile, NotCovered, Restore, Restored, SnapshotError, SnapshotId, Snapshots,
};
use crate::state::{AssistantState, Rewound};

pub use crate::state::RewindScope;

/// A plan to take a session back to an earlier checkpoint, with its files. Nothing has changed yet.
#[derive(Debug)]
#[must_use = "a plan changes nothing until it is applied"]
pub struct Rewind {
    thread: Thread<AssistantState>,
    /// The checkpoint that the session continues from.
    to: Past<AssistantState>,
    /// The latest checkpoint when the plan was made.
    head: CheckpointId,
    snapshots: Snapshots,
    files: Option<Restore>,
    scope: RewindScope,
}

/// An error of a rewind, a redo or a fork.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RewindError {
    /// The checkpoint is not one of those that led to the latest one. Fork the session there.
    #[error(
        "the checkpoint {0} did not lead to the latest one of the session: fork the session there instead"
    )]
    OtherBranch(CheckpointId),
    /// The session has continued since the plan was made. Plan again.
    #[error("the session `{0}` has continued since the rewind was planned: plan it again")]
    Moved(ThreadId),
    /// The session was not rewound, or has continued since.
    #[error("there is nothing to redo in the session `{0}`: it was not rewound, or has continued since")]
    NothingToRedo(ThreadId),
    /// The thread could not be read or written.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The files could not be read or written.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

impl Rewind {
    /// Plans to take a session back to one of its checkpoints. If calls of the session or of its agents were cut off and
    /// have not been continued, their changes are taken back, too.
    ///
    /// # Errors
    /// Fails if the checkpoint did not lead to the latest one, and if the thread or the snapshots cannot be read.
    pub async fn plan(
        thread: &Thread<AssistantState>,
        to: CheckpointId,
        snapshots: &Snapshots,
    ) -> Result<Self, RewindError> {
        let (head, to) = (thread.head().await?, thread.at(to).await?);
        let (id, earlier) = (head.id(), &to.state().changes);
        let own = head.state().changes.strip_prefix(earlier.as_slice());
        let mut own = own.ok_or(RewindError::OtherBranch(to.id()))?.to_vec();
        let mut last = head.state().snapshot;
        let beside: Vec<_> =
            head.state().background.iter().map(|it| BackgroundAgent::thread(thread.id(), &it.name)).collect();
        for level in unfinished(thread, head).await? {
            add_missing(&mut own, &level.state().changes, earlier);
            last = level.state().snapshot.or(last);
            if let Some(before) = before_open_calls(level.loaded()) {
                let now = snapshots.take(Some(before), [""; 0]).await?;
                own.extend(now.change());
                last = Some(now.id);
            }
        }
        for agent in beside {
            let head = match thread.sibling(agent).head().await {
                // It has not begun, or is in another store.
                Err(ThreadError::NeverRan(_)) => continue,
                head => head?,
            };
            for level in unfinished(thread, head).await? {
                add_missing(&mut own, &level.state().changes, earlier);
                if let Some(before) = before_open_calls(level.loaded()) {
                    own.extend(snapshots.take(Some(before), [""; 0]).await?.change());
                }
            }
        }
        let last = last.or_else(|| own.last().map(|change| change.after));
        let files = match last.filter(|_| !own.is_empty()) {
            Some(last) => {
                let first = match to.state().snapshot {
                    Some(first) => first,
                    None => snapshots.before_first(last, &own).await?,
                };
                Some(snapshots.plan(last, first, &own).await?)
            }
            None => None,
        };
        Ok(Self {
            thread: thread.clone(),
            head: id,
            to,
            snapshots: snapshots.clone(),
            files,
            scope: RewindScope::Both,
        })
    }

    /// Returns the files that change, by path.
    pub fn changes(&self) -> impl Iterator<Item = ChangedFile> {
        self.files.iter().flat_map(Restore::changes)
    }

    /// Returns the files that stay because others have changed them, too, by path: each with the change that it would
    /// take to restore it.
    pub fn foreign(&self) -> impl Iterator<Item = ChangedFile> {
        self.files.iter().flat_map(Restore::foreign)
    }

    /// Returns the files of the session's changes that stay because they are not covered, by path.
    pub fn not_covered(&self) -> &[NotCovered] {
        self.files.as_ref().map_or(&[], Restore::not_covered)
    }

    /// Restores the foreign files that a function selects, also. Changes of others in them are lost, until a
    /// [redo](redo()).
    pub fn include_foreign(mut self, select: impl FnMut(&ChangedFile) -> bool) -> Self {
        self.files = self.files.map(|files| files.include_foreign(select));
        self
    }

    /// Takes only this part of the session back.
    pub const fn only(mut self, scope: RewindScope) -> Self {
        self.scope = scope;
        self
    }

    /// Restores the files, and makes a copy of the earlier checkpoint the latest one. The next message continues from
    /// there, and its request names the files that were restored.
    ///
    /// The files come first. If the program ends in between, they are restored and the session has not moved: plan and
    /// apply again. The session then is where it should be, with its files; a [redo](redo()) takes it back without those
    /// files that were restored the first time.
    ///
    /// Returns the result for the files; `None` if there were none to restore.
    ///
    /// # Errors
    /// Fails if the session has continued since, and if the files or the thread cannot be written.
    pub async fn apply(self) -> Result<Option<Restored>, RewindError> {
        let Self { thread, to, head, snapshots, files, scope } = self;
        if thread.head().await?.id() != head {
            return Err(RewindError::Moved(thread.id().clone()));
        }
        let foreign = files.iter().flat_map(Restore::foreign);
        let kept = files.iter().filter(|_| scope == RewindScope::Talk).flat_map(Restore::changes);
        let stays: Vec<_> = foreign.chain(kept).map(|file| file.path).collect();
        let restored = match files.as_ref().filter(|_| scope != RewindScope::Talk) {
            Some(files) => Some(snapshots.restore(files).await?),
            None => None,
        };
        let note = Rewound::new(head, scope, restored.as_ref(), stays);
        let mut update = AssistantState::update().set_rewound(Some(note));
        if scope == RewindScope::Files {
            // The conversation continues, so that the restore is a change of its own.
            update = update.changes(restored.iter().map(Restored::change).collect::<Vec<_>>());
        } else {
            to.branch().await?;
            update = update.set_snapshot(to.state().snapshot);
        }
        if let Some(restored) = &restored {
            update = update.set_snapshot(Some(restored.after));
        }
        thread.edit(update).await?;
        Ok(restored)
    }
}

/// Returns a checkpoint with the latest ones of the agents that run below it, each behind the one that started it.
pub(crate) async fn unfinished(
    thread: &Thread<AssistantState>,
    head: Past<AssistantState>,
) -> Result<Vec<Past<AssistantState>>, ThreadError> {
    let agents = head.subgraphs().await?;
    let mut levels = vec![head];
    for agent in agents.iter().filter(|agent| agent.path.iter().all(|node| node.as_str().starts_with(AGENT)))
    {
        levels.push(thread.sibling(agent.thread.clone()).head().await?);
    }
    Ok(levels)
}

/// Returns the snapshots that the checkpoints of all sessions of a graph refer to, and those of their agents in the same
/// store. [`Snapshots::collect`] keeps them and deletes the others.
///
/// It reads every checkpoint.
///
/// # Errors
/// Fails if the threads cannot be read.
pub async fn referenced(graph: &Graph<AssistantState>) -> Result<HashSet<SnapshotId>, ThreadError> {
    let mut ids = HashSet::new();
    for ThreadSummary { thread, .. } in graph.threads().await? {
        let thread = graph.thread(thread);
        // The checkpoints that led to the latest one, which may be those of another thread, and all others of its own.
        let past = thread.history()?.collect().await?;
        let own = thread.lineage().await?.into_iter().filter(|it| it.thread == *thread.id());
        let all: BTreeSet<CheckpointId> = past.into_iter().chain(own).map(|it| it.id).collect();
        for checkpoint in all {
            for level in unfinished(&thread, thread.at(checkpoint).await?).await? {
                let state = level.state();
                let rewound = state.rewound.iter().filter_map(|rewound| rewound.change);
                let changes = state.changes.iter().copied().chain(rewound);
                ids.extend(changes.flat_map(|change| [change.before, change.after]));
                ids.extend(state.snapshot.into_iter().chain(taken_at(level.loaded())));
            }
        }
    }
    Ok(ids)
}

/// Adds those changes of an agent that are neither known nor earlier ones.
fn add_missing(own: &mut Vec<Change>, changes: &[Change], earlier: &[Change]) {
    let known: HashSet<Change> = own.iter().chain(earlier).copied().collect();
    own.extend(changes.iter().filter(|change| !known.contains(change)));
}

/// Takes the last rewind of a session back: the thread continues where it was before, with the files of then. A file
/// that has changed since the rewind stays as it is. A rewind before that one can be taken back next.
///
/// Returns the result for the files; `None` if the rewind restored none.
///
/// # Errors
/// Fails if the session was not rewound or has continued since, and if the files or the thread cannot be written.
pub async fn redo(
    thread: &Thread<AssistantState>,
    snapshots: &Snapshots,
) -> Result<Option<Restored>, RewindError> {
    let head = thread.head().await?;
    let rewound = head.state().rewound.as_ref();
    let rewound = rewound.ok_or_else(|| RewindError::NothingToRedo(thread.id().clone()))?;
    let restored = match (rewound.change, head.state().snapshot) {
        (Some(change), Some(now)) => {
            let files = snapshots.plan(now, change.before, &[change]).await?;
            Some(snapshots.restore(&files).await?)
        }
        _ => None,
    };
    thread.at(rewound.from).await?.branch().await?;
    if let Some(restored) = &restored {
        thread.edit(AssistantState::update().set_snapshot(Some(restored.after))).await?;
    }
    Ok(restored)
}

/// Forks a session at a checkpoint, and writes its files as they were there into another folder, which is made if it is
/// not there. Returns the new thread, and what the snapshot does not cover.
///
/// Without a call that changes files before the checkpoint, the files are those before the first such call; without any
/// such call, those of now.
///
/// # Errors
/// Fails if the folder is not empty, if a thread of this name exists, and if the thread or the snapshots cannot be read.
/// The folder may then have a part of the files.
pub async fn fork(
    thread: &Thread<AssistantState>,
    at: CheckpointId,
    name: impl Into<ThreadId>,
    snapshots: &Snapshots,
    folder: &Path,
) -> Result<(Thread<AssistantState>, Vec<NotCovered>), RewindError> {
    let at = thread.at(at).await?;
    let snapshot = match at.state().snapshot {
        Some(snapshot) => snapshot,
        None => before_first_change(thread, snapshots).await?,
    };
    let not_covered = snapshots.materialise(snapshot, folder).await?;
    Ok((at.fork(name).await?, not_covered))
}

async fn before_first_change(
    thread: &Thread<AssistantState>,
    snapshots: &Snapshots,
) -> Result<SnapshotId, RewindError> {
    for level in unfinished(thread, thread.head().await?).await? {
        let first = level.state().changes.first().map(|Change { before, .. }| *before);
        if let Some(before) = first.or_else(|| before_open_calls(level.loaded())) {
            return Ok(before);
        }
    }
    Ok(snapshots.take(None, [""; 0]).await?.id)
}

#[cfg(test)]
mod tests;
