//! The errors of stores.

use alloc::string::String;

use super::name::CheckpointName;
use crate::error::BoxError;
use crate::id::{CheckpointId, Fingerprint, InterruptId, ThreadId};
use crate::state::Excess;

/// The error of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The thread has no such checkpoint. List its history to see the existing ones.
    #[error("thread {thread} has no checkpoint {checkpoint}")]
    NoCheckpoint {
        /// The thread.
        thread: ThreadId,
        /// The checkpoint's id, or the node that should have been next.
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
    /// The id of a checkpoint to be stored belongs to another one. A thread that already exists is not imported
    /// again.
    #[error("checkpoint {0} is stored already")]
    CheckpointExists(CheckpointId),
    /// A checkpoint to be shared has the same id as an existing one, but other content. One of them may be
    /// redacted.
    #[error("checkpoint {0} is already stored with different contents")]
    CheckpointDiffers(CheckpointId),
    /// The thread was written by another graph. Use that graph, or another thread.
    #[error("thread {thread} belongs to graph {found}, not to {expected}")]
    WrongGraph {
        /// The thread.
        thread: ThreadId,
        /// The graph that accessed the thread.
        expected: String,
        /// The graph that the thread belongs to.
        found: String,
    },
    /// Another writer moved the thread's head, so no work can start on this checkpoint any longer. Load the thread
    /// again.
    #[error("thread {thread} has moved on from checkpoint {base}")]
    Superseded {
        /// The thread.
        thread: ThreadId,
        /// The checkpoint that is not its head.
        base: CheckpointId,
    },
    /// A row that belongs to a thread was to be stored, and the thread has no row: it was deleted, or never created.
    #[error("thread {0} does not exist")]
    NoThread(ThreadId),
    /// A later version of an assistant was to be stored, and there is no assistant with this id. Create it first.
    #[error("assistant {0} does not exist")]
    NoAssistant(String),
    /// A checkpoint refers to a schema or topology that is not in the store. Register its graph first.
    #[error("no graph with fingerprint {0} is registered")]
    NotRegistered(Fingerprint),
    /// No pending task of the thread asked this question. It may belong to an older checkpoint, or to a superstep
    /// of a subgraph that has ended. Resume the thread, which asks its open questions again.
    #[error("thread {thread} has no open question {interrupt}; resume the thread to get its open questions")]
    NoInterrupt {
        /// The thread.
        thread: ThreadId,
        /// The question.
        interrupt: InterruptId,
    },
    /// The question already has an answer, and an answer is used once.
    #[error("question {0} is already answered")]
    AlreadyAnswered(InterruptId),
    /// A stored row is damaged. Restore the file from a backup; other threads are still readable.
    #[error("{place} is damaged: {reason}")]
    Corrupt {
        /// The damaged row.
        place: String,
        /// The problem with it.
        reason: String,
    },
    /// Data exceeds the size limits. If it was to be written, it was not stored and nothing is lost: remove a part
    /// of it, or store it elsewhere. If it was read, it is rejected, because it could be meant to exhaust the
    /// memory; if it is legitimate, raise the [limits](crate::state::SizeLimits) of the store.
    #[error("{place} has {excess}, which the limits of the store do not allow")]
    TooLarge {
        /// The row, or the data to be written.
        place: String,
        /// The limit that it exceeds.
        excess: Excess,
    },
    /// The file was written by a newer version of the program. Update the program.
    #[error("the file has format {found}; this program reads up to {supported}")]
    NewerFormat {
        /// The file's format.
        found: u32,
        /// The newest format that this program reads.
        supported: u32,
    },
    /// The file is not a checkpoint file.
    #[error("{0} is not a checkpoint file")]
    NotACheckpointFile(String),
    /// The run has lost the lease of the thread: another run took it over after too long a time without a renewal,
    /// or the lease was broken. Writes of the run are no longer stored.
    #[error("the lease of thread {thread} was lost{}", .to.as_ref().map(|to| alloc::format!(" to {to}")).unwrap_or_default())]
    LeaseLost {
        /// The thread.
        thread: ThreadId,
        /// The current holder.
        to: Option<String>,
    },
    /// The store does not support leases. Run without one, or use a saver that supports them.
    #[error("the checkpointer keeps no leases")]
    NoLeases,
    /// The store does not prune threads. Delete them, or use a saver that prunes, such as `SqliteSaver` with a file.
    #[error("the checkpointer does not prune threads: delete them instead")]
    NoPruning,
    /// Other programs blocked writes to the store for longer than the saver waits: with SQLite, its `busy_limit`.
    /// Nothing was stored. Try again; if the error occurs again, look for a program that holds a transaction open.
    #[error("other programs kept the store busy for too long: try again, or let the saver wait longer")]
    Busy,
    /// The file was opened with other keys than it needs.
    #[error("{place} {problem}")]
    Keys {
        /// The file.
        place: String,
        /// The problem with the keys, and its remedy.
        problem: KeyProblem,
    },
    /// Reading or writing failed. The saver reopens its file before it is used again.
    #[error("the store failed: {0}")]
    Io(#[source] BoxError),
}

impl StoreError {
    /// Returns the error for continuing from a [pruned](super::Source::Pruned) checkpoint.
    #[must_use]
    pub fn pruned(thread: &ThreadId, id: CheckpointId) -> Self {
        let checkpoint = alloc::format!("{id}: it was pruned, and only its state is left");
        Self::NoCheckpoint { thread: thread.clone(), checkpoint }
    }
}

/// The reason why a file cannot be used with the given keys, or without keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// The file is encrypted, and no keys were given.
    #[error("is encrypted with the key {key}: open it with its keys")]
    NoKeys {
        /// The id of a key with which it is encrypted.
        key: String,
    },
    /// Keys were given, but the file is not encrypted.
    #[error("is not encrypted: open it without keys, or encrypt it first")]
    NotEncrypted,
    /// The given key differs from the key with the same id with which the file was encrypted.
    #[error("was encrypted with a different key named {key}: give that key")]
    WrongKey {
        /// The id of the key.
        key: String,
    },
    /// The given keys lack one with which the file is encrypted.
    #[error("needs the key {key}: {reason}")]
    Lacking {
        /// The id of the key.
        key: String,
        /// The reason that the key provider gave.
        reason: String,
    },
    /// Encrypting or decrypting the whole file was interrupted.
    #[error("is only partly encrypted: run the interrupted command again, or reverse it, with the keys")]
    Interrupted,
    /// The file is encrypted and contains, or is about to contain, a store, which cannot be encrypted.
    #[error("cannot be encrypted and contain a store: keep the store in another file")]
    Store,
    /// The program was built without the feature that reads encrypted files.
    #[error("is encrypted, and this program was built without the feature `encryption`")]
    NotBuiltIn,
}
