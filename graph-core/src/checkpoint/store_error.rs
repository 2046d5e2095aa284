//! The errors of stores.

use alloc::string::String;

use super::key_problem::KeyProblem;
use super::name::CheckpointName;
use crate::error::BoxError;
use crate::id::{CheckpointId, Fingerprint, InterruptId, ThreadId};
use crate::state::Excess;

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The thread has no such checkpoint. List its history to see which there are.
    #[error("thread {thread} has no checkpoint {checkpoint}")]
    NoCheckpoint {
        /// The thread.
        thread: ThreadId,
        /// The checkpoint's id, or the node that was to be next.
        checkpoint: String,
    },
    /// The target of a fork is taken. Choose another name.
    #[error("thread {0} already exists")]
    ThreadExists(ThreadId),
    /// Another checkpoint of the thread has this name. Choose another one, or rename that first.
    #[error("the name {name} is taken: on thread {thread} it names checkpoint {checkpoint}")]
    NameTaken {
        /// The thread.
        thread: ThreadId,
        /// The name.
        name: CheckpointName,
        /// The checkpoint that has it.
        checkpoint: CheckpointId,
    },
    /// A checkpoint is to be stored under an id that another one has. A thread that is there is not imported again.
    #[error("checkpoint {0} is stored already")]
    CheckpointExists(CheckpointId),
    /// A checkpoint is to be shared with one of the same id, which is not the same. One of them may be redacted.
    #[error("checkpoint {0} is stored already, and is not the same")]
    CheckpointDiffers(CheckpointId),
    /// The thread was written by another graph. Use that graph, or another thread.
    #[error("thread {thread} belongs to graph {found}, not to {expected}")]
    WrongGraph {
        /// The thread.
        thread: ThreadId,
        /// The graph that asked.
        expected: String,
        /// The graph that the thread belongs to.
        found: String,
    },
    /// Another writer moved the thread's head on: nothing can be started on this checkpoint any more. Load
    /// the thread again.
    #[error("thread {thread} has moved on from checkpoint {base}")]
    Superseded {
        /// The thread.
        thread: ThreadId,
        /// The checkpoint that is not its head.
        base: CheckpointId,
    },
    /// A checkpoint refers to a schema or topology that the store was not given. Register its graph first.
    #[error("no graph with fingerprint {0} is registered")]
    NotRegistered(Fingerprint),
    /// No pending task of the thread asked this. It may belong to an older checkpoint, or to a superstep of a subgraph that
    /// has ended. Resume the thread: it asks what is open.
    #[error("thread {thread} has no open question {interrupt}; resume the thread, and it asks what is open")]
    NoInterrupt {
        /// The thread.
        thread: ThreadId,
        /// The question.
        interrupt: InterruptId,
    },
    /// An answer is used once.
    #[error("question {0} is already answered")]
    AlreadyAnswered(InterruptId),
    /// A stored row is damaged. Restore the file from a backup; other threads are still readable.
    #[error("{place} is damaged: {reason}")]
    Corrupt {
        /// Which row.
        place: String,
        /// The problem with it.
        reason: String,
    },
    /// Something is larger than it may be. What was to be written was not, and nothing is lost: take something out of it, or
    /// keep that elsewhere. What was read is refused: it may be made to fill the memory. Raise the
    /// [limits](crate::state::SizeLimits) of the store if it is not.
    #[error("{place} has {excess}, which the limits of the store do not allow")]
    TooLarge {
        /// Which row, or what was to be written.
        place: String,
        /// The limit that it exceeds.
        excess: Excess,
    },
    /// The file was written by a newer version of the program. Upgrade.
    #[error("the file has format {found}; this program reads up to {supported}")]
    NewerFormat {
        /// The file's format.
        found: u32,
        /// The newest format known here.
        supported: u32,
    },
    /// The file is not a checkpoint file.
    #[error("{0} is not a checkpoint file")]
    NotACheckpointFile(String),
    /// A run that held the thread's lease has lost it: another run took it over after too long a time without a
    /// renewal, or the lease was broken. Writes of the run that lost it are no longer stored.
    #[error("the lease of thread {thread} was lost{}", .to.as_ref().map(|to| alloc::format!(" to {to}")).unwrap_or_default())]
    LeaseLost {
        /// The thread.
        thread: ThreadId,
        /// The current holder.
        to: Option<String>,
    },
    /// The store keeps no leases. Run without one, or use a saver that does.
    #[error("the checkpointer keeps no leases")]
    NoLeases,
    /// Other programs kept the store from being written for as long as the saver waits: with SQLite, its `busy_limit`.
    /// Nothing was stored. Try again; if it happens again, look for a program that holds a transaction open.
    #[error("other programs kept the store busy for too long: try again, or let the saver wait longer")]
    Busy,
    /// The keys that the file was opened with are not those that it needs.
    #[error("{place} {problem}")]
    Keys {
        /// The file.
        place: String,
        /// The problem with the keys, and what to do about it.
        problem: KeyProblem,
    },
    /// Reading or writing failed. The saver reopens its file before it is used again.
    #[error("the store failed: {0}")]
    Io(#[source] BoxError),
}

impl StoreError {
    /// The error for continuing from a [pruned](super::Source::Pruned) checkpoint.
    #[must_use]
    pub fn pruned(thread: &ThreadId, id: CheckpointId) -> Self {
        let checkpoint = alloc::format!("{id}: it was pruned, and only its state is left");
        Self::NoCheckpoint { thread: thread.clone(), checkpoint }
    }
}
