//! Rewind, redo and fork of sessions with their files.
//!
//! ```text
//! Rewind::plan ──▶ shows what would change ──▶ Rewind::apply ──▶ the thread continues at the earlier checkpoint,
//!                                                    │            and the files are as they were there
//!                                                    ▼
//!                                                  redo          back again, until the next message
//! ```
//!
//! Only paths that calls of the session have changed are taken back. A file that was also changed by others is named,
//! and stays as it is unless the caller [includes](Rewind::include_foreign) it.

use std::path::Path;

use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::run::{Past, Thread, ThreadError};

use crate::node::before_open_calls;
use crate::snapshot::{
    Change, ChangedFile, NotCovered, Restore, Restored, SnapshotError, SnapshotId, Snapshots,
};
use crate::state::{AssistantState, Rewound};

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
    /// Plans to take a session back to one of its checkpoints. If calls were cut off and have not been continued, their
    /// changes are taken back, too, but not those of calls of sub-agents.
    ///
    /// # Errors
    /// Fails if the checkpoint did not lead to the latest one, and if the thread or the snapshots cannot be read.
    pub async fn plan(
        thread: &Thread<AssistantState>,
        to: CheckpointId,
        snapshots: &Snapshots,
    ) -> Result<Self, RewindError> {
        let (head, to) = (thread.head().await?, thread.at(to).await?);
        let earlier = &to.state().changes;
        let own = head.state().changes.strip_prefix(earlier.as_slice());
        let mut own = own.ok_or(RewindError::OtherBranch(to.id()))?.to_vec();
        let mut last = head.state().snapshot;
        if let Some(before) = before_open_calls(head.loaded()) {
            let now = snapshots.take(Some(before), [""; 0]).await?;
            own.extend(now.change());
            last = Some(now.id);
        }
        let first = to.state().snapshot.or_else(|| own.first().map(|change| change.before));
        let files = match last.zip(first).filter(|_| !own.is_empty()) {
            Some((last, first)) => Some(snapshots.plan(last, first, &own).await?),
            None => None,
        };
        Ok(Self { thread: thread.clone(), head: head.id(), to, snapshots: snapshots.clone(), files })
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

    /// Restores the files, and makes a copy of the earlier checkpoint the latest one. The next message continues from
    /// there, and the model is told which files were restored. If the program ends in between, plan and apply again.
    ///
    /// Returns the result for the files; `None` if there were none to restore.
    ///
    /// # Errors
    /// Fails if the session has continued since, and if the files or the thread cannot be written.
    pub async fn apply(self) -> Result<Option<Restored>, RewindError> {
        let Self { thread, to, head, snapshots, files } = self;
        if thread.head().await?.id() != head {
            return Err(RewindError::Moved(thread.id().clone()));
        }
        let stays: Vec<_> = files.iter().flat_map(Restore::foreign).map(|file| file.path).collect();
        let restored = match &files {
            Some(files) => Some(snapshots.restore(files).await?),
            None => None,
        };
        to.branch().await?;
        let note = Rewound::new(head, restored.as_ref(), stays);
        let after = restored.as_ref().map_or(to.state().snapshot, |restored| Some(restored.after));
        thread.edit(AssistantState::update().set_snapshot(after).set_rewound(Some(note))).await?;
        Ok(restored)
    }
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
    let head = thread.head().await?;
    let first = head.state().changes.first().map(|Change { before, .. }| *before);
    match first.or_else(|| before_open_calls(head.loaded())) {
        Some(before) => Ok(before),
        None => Ok(snapshots.take(None, [""; 0]).await?.id),
    }
}

#[cfg(test)]
mod tests;
