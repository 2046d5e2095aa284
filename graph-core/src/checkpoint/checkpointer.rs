//! The trait that savers implement: a driver calls it to store and load checkpoints.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;

use async_trait::async_trait;

use super::checkpointer_ext::CheckpointerExt;
use super::commit::{Carried, Commit, Committed};
use super::lease::{LeaseRecord, LeaseReply, LeaseRequest};
use super::model::Loaded;
use super::name::{CheckpointName, Naming};
use super::scan::{Page, Scan};
use super::store_error::StoreError;
use super::watch::{Mark, Watch, poll};
use super::work::{Answered, Answers, EffectWrite, Work};
use super::{EffectRecord, GraphDescription, TaskResult};
use crate::id::{CheckpointId, NodeName, TaskId, ThreadId};
use crate::records::Records;

/// Stores checkpoints. Implementations are called savers.
///
/// A saver makes no scheduling decisions: it keeps what it is given, in an order of its own, and moves the head of
/// a thread only from the checkpoint that the writer names. A written checkpoint never changes.
///
/// Requests and answers are values, so that a saver can send them over a network. Callers use
/// [`CheckpointerExt`](super::CheckpointerExt), which has one method for each kind of request.
///
/// A program that knows the type of its saver can downcast a `&dyn Checkpointer`, like any [`Any`].
#[async_trait]
pub trait Checkpointer: Any + Send + Sync {
    /// Registers a graph, so that its checkpoints can be read without the program. Called before a graph's first
    /// commit, at the same time as the [`load`](Self::load) before it. A description that is already registered stays
    /// unchanged.
    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError>;

    /// Reads a checkpoint with its unfinished work.
    ///
    /// The work is that of this thread: a fork starts with none. On a checkpoint of the shared past, it is the work
    /// of the thread that continued it.
    ///
    /// A caller that already has the checkpoint `known` with its values receives [`Load::Unchanged`] if it asks for
    /// that checkpoint: only the work is read. A graph keeps the heads that its last runs wrote, so the next run on a
    /// thread asks for the head that it knows.
    ///
    /// # Errors
    /// Returns [`StoreError::NoCheckpoint`] if the thread exists and `at` is neither its own nor in its past, and
    /// [`StoreError::Corrupt`] if a row that was read is damaged.
    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError>;

    /// Reads the head of a thread like [`load`](Self::load), to run one of its tasks. Of the work, only that of the
    /// task is needed. A superstep has as much work as tasks, so a saver that leaves the rest out reads far less for
    /// each of many tasks. By default, all of it is read.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    async fn load_task(
        &self,
        thread: &ThreadId,
        task: TaskId,
        known: Option<CheckpointId>,
    ) -> Result<Load, StoreError> {
        let _all_is_read = task;
        self.load(thread, At::Head, known).await
    }

    /// Stores a checkpoint and moves the head to it. On success the checkpoint is as durable as the saver promises.
    ///
    /// A run's first commit carries two checkpoints: the [input](Commit::input) continues the head, and START's
    /// checkpoint continues the input. Both are stored in one transaction, as two commits in a row would store them.
    ///
    /// The commit is the barrier of its parent's superstep. It removes the results, failures, open questions and
    /// effects without an outcome that this thread has on the parent; answers and outcomes stay, for replay. A
    /// superstep that is discarded instead, by an input or by a commit on another parent, also keeps its results
    /// and failures. The work that the commit carries is stored on top of the new checkpoint, with it or not at
    /// all.
    ///
    /// A commit that states the [expected records](Commit::recorded) on the head happens only if exactly these are
    /// recorded there, checked in the same transaction. So a result or an effect that another run recorded first is
    /// neither overlooked nor overwritten. Otherwise the records are [returned](Committed::Outrun).
    ///
    /// A subgraph's thread can only begin while the thread [above](ThreadId::above) it exists. If that was deleted,
    /// the commit is a [conflict](Committed::Conflict).
    ///
    /// # Errors
    /// Returns [`StoreError::WrongGraph`], [`StoreError::NotRegistered`], or, if the parent is not in the store,
    /// [`StoreError::NoCheckpoint`].
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError>;

    /// Stores unfinished work on top of `base`. [`Work`] describes the effect of each kind, and when it must be
    /// durable. For a result, returns the one that counts: the first result of its task.
    ///
    /// # Errors
    /// Returns [`StoreError::Superseded`] for questions if `base` is not the thread's head.
    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError>;

    /// Stores the result of the only task that a run runs, durably, and returns the one that counts. By default, this
    /// is [`record_checked`](CheckpointerExt::record_checked). A saver over a network can answer one request instead.
    ///
    /// # Errors
    /// Returns [`StoreError::Superseded`] if `base` is not the thread's head.
    async fn record_task(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        self.record_checked(thread, base, result).await
    }

    /// Writes to the effect journal of a task of `base`. [`EffectWrite`] describes the effect of each kind. If
    /// another run began the effect first, returns the existing record.
    ///
    /// # Errors
    /// Returns [`StoreError::Superseded`], as each kind describes.
    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError>;

    /// Stores answers to questions, durably. [`Answers`] describes each kind of request, and [`Answered`] its reply.
    ///
    /// # Errors
    /// Returns [`StoreError::NoInterrupt`] if the thread's head has no such question, and
    /// [`StoreError::AlreadyAnswered`] if the question already has an answer.
    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError>;

    /// Waits until everything that was recorded on the thread is as durable as the saver promises. Called when a run
    /// ends anywhere but at its [last](Commit::is_last) commit.
    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError>;

    /// Returns the page that a [`Scan`] asks for: filtered, in the order that the scan names, and with at most the
    /// requested number of entries.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load), for a scan that begins at a checkpoint.
    async fn scan(&self, scan: Scan) -> Result<Page, StoreError>;

    /// Changes, durably, a thread's names for checkpoints of its own or of its shared past. A name belongs to one
    /// checkpoint, and a checkpoint may have several names. Other threads do not see the names, and they are
    /// deleted with the thread. A checkpoint with a name is kept as long as it has one: neither the deletion of
    /// another thread nor pruning removes it.
    ///
    /// # Errors
    /// Returns [`StoreError::NameTaken`] if another checkpoint of the thread has the name, and
    /// [`StoreError::NoCheckpoint`] if the thread has no such checkpoint, or none with that name.
    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError>;

    /// Creates a new thread whose head is `at`, an existing checkpoint of `from`. Copies nothing.
    ///
    /// # Errors
    /// Returns [`StoreError::ThreadExists`] if `to` has a checkpoint, and [`StoreError::Superseded`] if `to` is a
    /// subgraph's thread and the thread above it was deleted.
    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError>;

    /// Deletes a thread of `graph` with the threads of its subgraphs: checkpoints, unfinished work, answers and
    /// journals, and its [rows](Self::records). After that the name can be used again. Deleting a thread that does not exist does nothing.
    ///
    /// Data that other threads share with it is kept for them: the past of their checkpoints with its journal, and
    /// subgraphs that continue from a kept state there. That data is deleted with the last of those threads. A run that
    /// is in progress on the thread stores nothing more: its next commit finds another head, and its subgraphs cannot
    /// begin.
    ///
    /// # Errors
    /// Returns [`StoreError::WrongGraph`].
    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError>;

    /// Deletes the checkpoints of these threads but the latest one of each thread and branch, named ones, and those
    /// where branches begin. What is left keeps its values and continues; the past of the others is gone. Threads that
    /// do not exist are skipped.
    ///
    /// A saver may leave this out. This method then returns an error.
    ///
    /// # Errors
    /// Returns [`StoreError::NoPruning`].
    async fn keep_latest(&self, _threads: &[ThreadId]) -> Result<(), StoreError> {
        Err(StoreError::NoPruning)
    }

    /// Acquires, renews, releases or breaks the lease of a thread, as [`LeaseRequest`] describes.
    ///
    /// A saver may leave out leases. This method then returns an error, and the other methods about leases are never
    /// called.
    ///
    /// # Errors
    /// Returns [`StoreError::LeaseLost`], as each kind describes, or [`StoreError::NoLeases`].
    async fn lease(&self, _request: LeaseRequest) -> Result<LeaseReply, StoreError> {
        Err(StoreError::NoLeases)
    }

    /// Returns the same store for the holder of a lease: once the lease is lost, it rejects writes with
    /// [`StoreError::LeaseLost`], checked in the transaction of each write. Work that is handed over without waiting is
    /// rejected silently, and later calls return the error. `None` for a store without leases.
    fn fenced(&self, _lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
        None
    }

    /// Returns the rows that a server keeps in the same store; `None` for a store without them. Clones of a saver
    /// return the same [`Arc`], as long as it is in use. The lease of a [fenced](Self::fenced) saver does not fence
    /// the rows: workers have [attempts](crate::records::RunRow::attempt).
    fn records(&self) -> Option<Arc<dyn Records>> {
        None
    }

    /// Waits for a change since a [`Mark`], and returns the current mark: see [`Watch`].
    ///
    /// By default it reads the watched data every 100 milliseconds. A store that detects changes, including those
    /// by other processes, can do it at a lower cost: over a network, one open request is enough.
    async fn watch(&self, watch: Watch) -> Result<Mark, StoreError> {
        poll(self, watch).await
    }
}

/// The selection of a checkpoint of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// The latest checkpoint.
    Head,
    /// The checkpoint with this id.
    Id(CheckpointId),
    /// The newest checkpoint for which this node is next, going back from the head.
    Before(NodeName),
    /// The checkpoint to which the thread gave this name.
    Named(CheckpointName),
}

/// The answer to a request for a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// The thread has no checkpoint.
    Missing,
    /// The checkpoint is the one that the caller already has. This is its unfinished work.
    Unchanged(Carried),
    /// The checkpoint with its values and its unfinished work.
    Whole(Box<Loaded>),
}

impl Load {
    /// Returns the checkpoint, for a request without a known checkpoint.
    #[must_use]
    pub fn loaded(self) -> Option<Loaded> {
        match self {
            Self::Whole(loaded) => Some(*loaded),
            Self::Missing | Self::Unchanged(_) => None,
        }
    }
}
