//! Adding a checkpoint to a file, as branches and edits do. What is there stays as it is.

use std::sync::Arc;

use superstep_core::checkpoint::{At, Carried, Checkpoint, Commit, Committed, Onto, Recorded};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::run::{Ambient, System};
use superstep_core::state::LoggedWrite;

use super::failure::Failure;
use super::source::{CheckpointRef, Source};
use super::topology::StoredGraph;
use super::writable_file::{WritableFile, wait};

/// Where a new checkpoint goes.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) thread: ThreadId,
    /// The thread's head; none of a thread that is to begin.
    pub(super) head: Option<CheckpointId>,
}

impl Destination {
    /// The thread on which a checkpoint was found, or a new one.
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

    /// Adds the checkpoint with the work on top of it, and makes it the head, if the head is still the one that was
    /// seen, with what was recorded on it then where that was taken along.
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
        match wait(superstep_core::checkpoint::Checkpointer::commit(&target.saver, commit))? {
            Committed::New | Committed::Already => Ok(()),
            Committed::Outrun(_) | Committed::Adopt(_) | Committed::Conflict { .. } => {
                Err(Failure::unusable(format!(
                    "its program has moved thread {} on in the same moment: nothing was written, try again",
                    self.thread
                )))
            }
        }
    }
}

/// The name of a thread that is not there yet.
pub(super) fn new_thread(source: &Source, name: &str) -> Result<ThreadId, Failure> {
    let thread = thread_name(name)?;
    match source.reader.history(&thread, &At::Head, 1)?.is_empty() {
        true => Ok(thread),
        false => Err(Failure::unusable(format!("thread {name} is there already: choose another name"))),
    }
}

/// A name that a thread may have.
pub(super) fn thread_name(name: &str) -> Result<ThreadId, Failure> {
    match name.is_empty() || name.contains(char::is_control) {
        true => Err(Failure::unusable("a thread's name has at least one letter and no control characters")),
        false => Ok(name.into()),
    }
}

/// A fresh id.
pub(super) fn id() -> CheckpointId {
    CheckpointId(System.id())
}

/// Work is taken along to the same graph and the same fields.
impl Onto for StoredGraph {
    fn writes(&self, stored: &[LoggedWrite]) -> Option<Vec<LoggedWrite>> {
        Some(stored.to_vec())
    }

    fn runs_subgraph(&self, node: &NodeName) -> bool {
        self.nodes.iter().any(|held| held.name == *node && held.subgraph.is_some())
    }
}
