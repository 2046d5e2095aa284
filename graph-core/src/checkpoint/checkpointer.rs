//! The trait between a driver and a store.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;

use async_trait::async_trait;

use super::commit::{Commit, Committed};
use super::lease::{LeaseRecord, LeaseReply, LeaseRequest};
use super::load::{At, Load};
use super::name::Naming;
use super::scan::{Page, Scan};
use super::store_error::StoreError;
use super::work::{Answered, Answers, EffectWrite, Work};
use super::{EffectRecord, GraphDescription, TaskResult};
use crate::id::{CheckpointId, NodeName, ThreadId};

/// Stores checkpoints. Implementations are called savers.
///
/// A saver makes no scheduling decision: it keeps what it is given, in an order of its own making, and moves
/// the head of a thread only from the checkpoint that the writer names. A written checkpoint is never
/// changed.
///
/// Requests and answers are values, so that a saver may send them over a network. Callers use
/// [`CheckpointerExt`](super::CheckpointerExt), which has a method with its own answer for each kind of request.
#[async_trait]
pub trait Checkpointer: Send + Sync + 'static {
    /// Makes a graph known, so that its checkpoints can be read without the program. Called before a graph's
    /// first commit, and at the same time as the [`load`](Self::load) before it; a description that is already there is
    /// left alone.
    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError>;

    /// Reads a checkpoint with the unfinished work on top of it.
    ///
    /// The work is that of this thread: a fork starts with none. On a checkpoint of the shared past it is
    /// what the thread left that continued it.
    ///
    /// A caller that holds the checkpoint `known` with its values is answered [`Load::Unchanged`] when that is the
    /// one it asks for: only the work is read. A graph holds the heads that its last runs wrote, so this is what the
    /// next run on a thread asks for.
    ///
    /// # Errors
    /// [`StoreError::NoCheckpoint`] when the thread exists and `at` is neither its own nor in its past, and
    /// [`StoreError::Corrupt`] when a row that was read is damaged.
    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError>;

    /// Stores a checkpoint and moves the head to it. On success it is as durable as the saver promises.
    ///
    /// A run's first commit carries two: the [input](Commit::input) continues the head, and START's checkpoint continues
    /// the input. Both are stored in one transaction, as two commits in a row would store them.
    ///
    /// The commit is the barrier of its parent's superstep: results, failures, open questions and effects without an
    /// outcome that this thread holds on the parent go; answers and outcomes stay, for replay. A superstep that is
    /// given up instead, by an input or by a commit on another parent, keeps its results and failures, too. The work that
    /// the commit carries is stored on top of the new checkpoint, with it or not at all.
    ///
    /// A commit that states what it expects to be [recorded](Commit::recorded) on the head happens only if exactly that
    /// is recorded there, checked in the same transaction. So a result or an effect that another run recorded first is
    /// neither overlooked nor overwritten. The records that the commit does not know are [returned](Committed::Outrun).
    ///
    /// A subgraph's thread begins only while the thread [above](ThreadId::above) it exists: otherwise that one was
    /// deleted, and the commit is a [conflict](Committed::Conflict).
    ///
    /// # Errors
    /// [`StoreError::WrongGraph`], [`StoreError::NotRegistered`], and [`StoreError::NoCheckpoint`] when the
    /// parent is not in the store.
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError>;

    /// Stores unfinished work on top of `base`: see [`Work`] for what each kind does, and for when it must be durable.
    /// Returns the result that counts, for a result: the first one of its task.
    ///
    /// # Errors
    /// [`StoreError::Superseded`] for questions, when `base` is not the thread's head.
    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError>;

    /// Writes to the effect journal of a task of `base`: see [`EffectWrite`] for what each kind does.
    /// Returns the record that is there instead, when another run began the effect first.
    ///
    /// # Errors
    /// [`StoreError::Superseded`], as each kind says.
    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError>;

    /// Answers questions, durably: see [`Answers`] for what each kind does, and [`Answered`] for its reply.
    ///
    /// # Errors
    /// [`StoreError::NoInterrupt`] when the thread's head has no such question, and
    /// [`StoreError::AlreadyAnswered`] when it has an answer.
    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError>;

    /// Waits until everything recorded on the thread so far is as durable as the saver promises. Called when a run stops
    /// anywhere but at its [last](Commit::is_last) commit.
    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError>;

    /// Lists what a [`Scan`] asks for, filtered, in the order that it names, and at most as many as it asks for. The page
    /// is the one that belongs to the scan.
    ///
    /// # Errors
    /// Those of [`load`](Self::load), for a scan that begins at a checkpoint.
    async fn scan(&self, scan: Scan) -> Result<Page, StoreError>;

    /// Changes, durably, the names that a thread has for checkpoints of its own or of the past that it shares. A name
    /// is that of one checkpoint, and a checkpoint may have several. Other threads do not see it, and it goes when the
    /// thread is deleted. A checkpoint that has a name stays for as long as it has one: no deletion of another thread
    /// and no pruning takes it.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] when another checkpoint of the thread has the name, and [`StoreError::NoCheckpoint`]
    /// when the thread has no such checkpoint, or none of that name.
    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError>;

    /// Makes a new thread whose head is `at`, an existing checkpoint of `from`. Copies nothing.
    ///
    /// # Errors
    /// [`StoreError::ThreadExists`] when `to` has a checkpoint, and [`StoreError::Superseded`] when it is a
    /// subgraph's and the thread above it was deleted.
    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError>;

    /// Deletes a thread of `graph` with the threads of its subgraphs: checkpoints, unfinished work, answers and
    /// journals. Deleting a thread that does not exist does nothing, and the name is free again.
    ///
    /// Data that other threads share with it is kept for them: the past of their checkpoints with its journal, and
    /// subgraphs that continue from a kept state there. That data is deleted with the last of those threads. A run that
    /// is in progress on the thread stores nothing more: its next commit finds another head, and its subgraphs cannot
    /// begin.
    ///
    /// # Errors
    /// [`StoreError::WrongGraph`].
    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError>;

    /// Acquires, renews, releases or breaks the lease of a thread: see [`LeaseRequest`] for what each does.
    ///
    /// A store of one's own may leave out leases: this is then refused, and nothing else of them is asked for.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`], as each kind says, and [`StoreError::NoLeases`].
    async fn lease(&self, _request: LeaseRequest) -> Result<LeaseReply, StoreError> {
        Err(StoreError::NoLeases)
    }

    /// Returns the same store for the holder of a lease: once the lease is lost, it rejects writes with
    /// [`StoreError::LeaseLost`], checked in the transaction of each write. Work that is handed over without waiting is
    /// rejected silently, and later calls return the error. `None` for a store without leases.
    fn fenced(&self, _lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
        None
    }

    /// The file that it keeps everything in; `None` for one that has no file, or not one of its own.
    #[cfg(feature = "std")]
    fn path(&self) -> Option<&std::path::Path> {
        None
    }

    /// The saver as [`Any`], for callers that know its type and use methods beyond this trait: the debugger of a
    /// program opens the file of its saver a second time, with the same settings. A saver around another one returns
    /// the inner one. `None` for a saver that offers nothing beyond this trait.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}
