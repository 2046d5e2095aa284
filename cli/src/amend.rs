//! Adds a checkpoint to a file, for branches and edits. Existing data is not changed.

use std::sync::Arc;

use superstep_core::checkpoint::{At, Carried, Checkpoint, Commit, Committed, Onto, Recorded};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::run::{Ambient, System};
use superstep_core::state::LoggedWrite;

use super::failure::Failure;
use super::file::WritableFile;
use super::source::{CheckpointRef, Source};
use super::topology::StoredGraph;

/// The thread that receives a new checkpoint.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) thread: ThreadId,
    /// The thread's head; `None` for a new thread.
    pub(super) head: Option<CheckpointId>,
}

impl Destination {
    /// Returns the thread on which a checkpoint was found, or a new one.
    pub(super) fn of(source: &Source, place: &CheckpointRef, name: Option<&str>) -> Result<Self, Failure> {
        match name {
            Some(name) => Ok(Self { thread: new_thread(source, name)?, head: None }),
            None if place.thread.before_deletion() != place.thread => Err(Failure::nothing(format!(
                "thread {} was deleted, and {} is what others share with it: add --name for a thread from there",
                place.thread.before_deletion(),
                place.id
            ))),
            None => {
                let head = source.reader.history(&place.thread, &At::Head, 1)?;
                let thread = place.thread.clone();
                Ok(Self { thread, head: head.first().map(|head| head.id) })
            }
        }
    }

    /// Commits the checkpoint with the work on top of it and makes it the head. Fails if the head, or with `recorded`
    /// the work on it, has changed since it was read.
    pub(super) fn commit(
        &self,
        target: &WritableFile,
        graph: NodeName,
        checkpoint: Checkpoint,
        carried: Carried,
        recorded: Option<Recorded>,
    ) -> Result<(), Failure> {
        let commit = Commit {
            thread: self.thread.clone(),
            graph,
            expected: self.head,
            recorded,
            input: None,
            checkpoint: Arc::new(checkpoint),
            carried: Some(Box::new(carried)),
            emitted: Vec::new(),
            is_last: true,
        };
        match target.wait(target.saver().commit(commit))? {
            Committed::New | Committed::Already => Ok(()),
            Committed::Outrun(_) | Committed::Adopt(_) | Committed::Conflict { .. } => {
                Err(Failure::overtaken(format!(
                    "its program advanced thread {} at the same moment: nothing was written, try again",
                    self.thread
                )))
            }
        }
    }
}

/// Checks the name of a new thread. Fails if the thread exists.
pub(super) fn new_thread(source: &Source, name: &str) -> Result<ThreadId, Failure> {
    let thread = thread_name(name)?;
    match source.reader.history(&thread, &At::Head, 1)?.is_empty() {
        true => Ok(thread),
        false => Err(Failure::unusable(format!("thread {name} already exists: choose another name"))),
    }
}

/// Checks that a name is allowed for a thread.
pub(super) fn thread_name(name: &str) -> Result<ThreadId, Failure> {
    match name.is_empty() || name.contains(char::is_control) {
        true => Err(Failure::unusable("a thread's name has at least one letter and no control characters")),
        false => Ok(name.into()),
    }
}

/// Returns a new id.
pub(super) fn id() -> CheckpointId {
    CheckpointId(System.id())
}

/// Work is carried over to the same graph with the same fields.
impl Onto for StoredGraph {
    fn writes(&self, stored: &[LoggedWrite]) -> Option<Vec<LoggedWrite>> {
        Some(stored.to_vec())
    }

    fn runs_subgraph(&self, node: &NodeName) -> bool {
        self.nodes.iter().any(|held| held.name == *node && held.subgraph.is_some())
    }
}
