//! The trait between a driver and a store.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;

use async_trait::async_trait;

use super::commit::{Commit, Committed};
use super::key_problem::KeyProblem;
use super::lease::{Acquired, Claim, LeaseRecord};
use super::name::{CheckpointName, NamedCheckpoint, Naming};
use super::step_record::StepRecord;
use super::{
    AskRecord, EffectId, EffectOutcome, EffectRecord, FailureRecord, GraphDescription, Loaded, Summary,
    TaskResult, ThreadSummary,
};
use crate::error::BoxError;
use crate::id::{CheckpointId, Fingerprint, InterruptId, NodeName, ThreadId};
use crate::state::{Excess, Json};

/// Stores checkpoints. Implementations are called savers.
///
/// A saver makes no scheduling decision: it keeps what it is given, in an order of its own making, and moves
/// the head of a thread only from the checkpoint that the writer names. A written checkpoint is never
/// changed.
#[async_trait]
pub trait Checkpointer: Send + Sync + 'static {
    /// Makes a graph known, so that its checkpoints can be read without the program. Called before a graph's
    /// first commit; a description that is already there is left alone.
    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError>;

    /// Reads a checkpoint with the unfinished work on top of it; `None` when the thread has no checkpoint.
    ///
    /// The work is that of this thread: a fork starts with none. On a checkpoint of the shared past it is
    /// what the thread left that continued it.
    ///
    /// # Errors
    /// [`StoreError::NoCheckpoint`] when the thread exists and `at` is neither its own nor in its past, and
    /// [`StoreError::Corrupt`] when a row that was read is damaged.
    async fn load(&self, thread: &ThreadId, at: At) -> Result<Option<Loaded>, StoreError>;

    /// Stores a checkpoint and moves the head to it. On success it is as durable as the saver promises.
    ///
    /// The commit is the barrier of its parent's superstep: results, failures, open questions and effects without an
    /// outcome that this thread holds on the parent go; answers and outcomes stay, for replay. A superstep that is
    /// given up instead, by an input or by a commit on another parent, keeps its results and failures, too. The work that
    /// the commit carries is stored on top of the new checkpoint, with it or not at all.
    ///
    /// A commit that says what it takes to be [recorded](Commit::recorded) on the head happens only if just that is
    /// recorded there, in the same transaction: whoever was faster with a result or an effect is neither overlooked nor
    /// overruled. What the commit does not know it [is given](Committed::Outrun).
    ///
    /// A subgraph's thread begins only while the thread [above](ThreadId::above) it is there: otherwise that was
    /// deleted, and the commit is a [conflict](Committed::Conflict).
    ///
    /// # Errors
    /// [`StoreError::WrongGraph`], [`StoreError::NotRegistered`], and [`StoreError::NoCheckpoint`] when the
    /// parent is not in the store.
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError>;

    /// Stores the result of a finished task as a pending write of `base`. The first writer wins: the result
    /// that counts is the one returned. A result without targets is completed by a later one with targets.
    ///
    /// When `base` is no longer the head, or the thread was deleted, nothing is stored and the result is returned as
    /// it is: the commit that follows says what became of the superstep.
    ///
    /// It need not be durable on return, but it is before the next [`commit`](Self::commit),
    /// [`ask`](Self::ask) or [`flush`](Self::flush) of this thread returns.
    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError>;

    /// Stores why a task of `base` failed, in the place of an earlier failure of it. A task that has a result
    /// keeps that, and a result that comes later takes the failure's place. As durable as
    /// [`record`](Self::record), and like it without effect when `base` is no longer the head.
    async fn fail(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        failure: FailureRecord,
    ) -> Result<(), StoreError>;

    /// Stores the questions of paused tasks of `base`, durably. A question that is already there is left
    /// alone, with its answer. Unanswered questions of these tasks that are not among `asks` go, in the same
    /// transaction: nobody waits for their answers any more.
    ///
    /// # Errors
    /// [`StoreError::Superseded`] when `base` is not the thread's head.
    async fn ask(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> Result<(), StoreError>;

    /// Stores answers, durably and all or none.
    ///
    /// # Errors
    /// [`StoreError::NoInterrupt`] when the thread's head has no such question, and
    /// [`StoreError::AlreadyAnswered`] when it has an answer.
    async fn answer(&self, thread: &ThreadId, answers: Vec<(InterruptId, Json)>) -> Result<(), StoreError>;

    /// Answers with their defaults, durably, the questions on the heads of `graph`'s threads that wait for an
    /// answer though their deadline is not after `now_ms`: those of all threads, or those of one. Returns them,
    /// answered. An answer that came first stays, and a deadline counts once.
    async fn expire(
        &self,
        graph: &NodeName,
        thread: Option<&ThreadId>,
        now_ms: u64,
    ) -> Result<Vec<(ThreadId, AskRecord)>, StoreError>;

    /// Records, durably, that an effect of a task of `base` is about to start, in the place of a record that it
    /// [follows](EffectRecord::follows). Where there is one that it does not follow, another run was faster: nothing is
    /// recorded, and that record is returned.
    ///
    /// # Errors
    /// [`StoreError::Superseded`] when `base` is not the thread's head: the effect must not start.
    async fn begin_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError>;

    /// Records, durably, how an effect ended: the effect's caller continues only when this returns, so a crash after
    /// that never repeats the effect. The first success counts. When `base` is no longer the head, nothing is stored.
    ///
    /// A call that is dropped before it returns may still be carried out.
    ///
    /// # Errors
    /// [`StoreError::Superseded`] when another run has recorded another success: nothing that follows from this
    /// outcome may be stored.
    async fn end_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectId,
        outcome: EffectOutcome,
    ) -> Result<(), StoreError>;

    /// Records an effect with its outcome at once, in the place of an earlier record of it: a value that was drawn,
    /// and that is lost with everything that follows from it, or not at all. As durable as
    /// [`record`](Self::record), before what is handed over later, and like it without effect when `base` is no
    /// longer the head. The first value counts.
    ///
    /// # Errors
    /// [`StoreError::Superseded`] when another run has drawn another value: nothing that follows from this one may be
    /// stored. A store that does not wait says so at the next [`commit`](Self::commit).
    async fn note_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<(), StoreError>;

    /// Waits until everything recorded on the thread so far is as durable as the saver promises.
    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError>;

    /// Lists a thread's past: the checkpoint at `from` and those it continues, newest first and at most `limit` of them.
    /// None when the thread has no checkpoint.
    ///
    /// # Errors
    /// Those of [`load`](Self::load).
    async fn history(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<Summary>, StoreError>;

    /// Lists the tree that a thread is part of, newest first: all checkpoints that go back to the same first one, those of
    /// its branches and those of the threads that share its history. Checkpoints of subgraphs are not among them. None
    /// when the thread has no checkpoint.
    ///
    /// It looks at every checkpoint of the store.
    async fn lineage(&self, thread: &ThreadId) -> Result<Vec<Summary>, StoreError>;

    /// Reads what happened: the checkpoint at `from` and those it continues, newest first and at most `limit` of
    /// them, each with its superstep and what is left on top of it. None when the thread has no checkpoint.
    ///
    /// # Errors
    /// Those of [`load`](Self::load).
    async fn steps(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<StepRecord>, StoreError>;

    /// Changes, durably, the names that a thread has for checkpoints of its own or of the past that it shares. A name
    /// is that of one checkpoint, and a checkpoint may have several. Other threads do not see it, and it goes when the
    /// thread is deleted. A checkpoint that has a name stays for as long as it has one: no deletion of another thread
    /// and no pruning takes it.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] when another checkpoint of the thread has the name, and [`StoreError::NoCheckpoint`]
    /// when the thread has no such checkpoint, or none of that name.
    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError>;

    /// Lists the names that a thread has for checkpoints, by name. None when the thread has no checkpoint.
    async fn names(&self, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError>;

    /// Makes a new thread whose head is `at`, an existing checkpoint of `from`. Copies nothing.
    ///
    /// # Errors
    /// [`StoreError::ThreadExists`] when `to` has a checkpoint, and [`StoreError::Superseded`] when it is a
    /// subgraph's and the thread above it was deleted.
    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError>;

    /// Deletes a thread of `graph` with the threads of its subgraphs: checkpoints, unfinished work, answers and
    /// journals. Deleting a thread that does not exist does nothing, and the name is free again.
    ///
    /// What other threads share with it stays for them: the past of their checkpoints with its journal, and
    /// subgraphs that go on from a kept state there. It goes when the last of them is deleted. A run that is going
    /// on the thread stores nothing more: its next commit finds another head, and its subgraphs cannot begin.
    ///
    /// # Errors
    /// [`StoreError::WrongGraph`].
    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError>;

    /// Lists all threads, by name.
    async fn threads(&self) -> Result<Vec<ThreadSummary>, StoreError>;

    /// Lists the threads of a graph for which something is next, by name.
    async fn unfinished(&self, graph: &NodeName) -> Result<Vec<ThreadSummary>, StoreError>;

    /// Lists the questions on the heads of a graph's threads that wait for an answer, by thread and in the order
    /// in which they were asked. What it costs depends on their number, not on the number of threads.
    async fn open_asks(&self, graph: &NodeName) -> Result<Vec<(ThreadId, AskRecord)>, StoreError>;

    /// Gives a thread to whoever claims it, unless somebody else holds it and the lease of that one is not over by the
    /// store's clock. The thread need not exist. It outlives the claimant only until it is over.
    ///
    /// A store of one's own may leave out leases: this is then refused, and nothing else of them is asked for.
    ///
    /// # Errors
    /// [`StoreError::NoLeases`].
    async fn acquire(&self, _claim: Claim) -> Result<Acquired, StoreError> {
        Err(StoreError::NoLeases)
    }

    /// Lets a lease count from now. Returns it as it stands then. One that is over and that nobody has taken over is
    /// renewed like any other.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when the thread was taken over, or the lease was broken.
    async fn renew(&self, _lease: &LeaseRecord) -> Result<LeaseRecord, StoreError> {
        Err(StoreError::NoLeases)
    }

    /// Gives a lease back.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when it was lost before.
    async fn release(&self, _lease: &LeaseRecord) -> Result<(), StoreError> {
        Err(StoreError::NoLeases)
    }

    /// Takes the lease of a thread away from whoever holds it, and keeps that one out from then on. Returns what was
    /// broken.
    async fn break_lease(&self, _thread: &ThreadId) -> Result<Option<LeaseRecord>, StoreError> {
        Err(StoreError::NoLeases)
    }

    /// Lists the leases that were neither given back nor lost, by thread; those that are over as well.
    async fn leases(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        Ok(Vec::new())
    }

    /// The same store for the holder of a lease: it refuses to write, with [`StoreError::LeaseLost`], once the lease is
    /// lost, in the transaction of each write. What is handed over without waiting is refused without a word, and what
    /// comes after it is told. `None` for a store without leases.
    fn fenced(&self, _lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
        None
    }

    /// The file that it keeps everything in; `None` for one that has no file, or not one of its own.
    #[cfg(feature = "std")]
    fn path(&self) -> Option<&std::path::Path> {
        None
    }

    /// The saver as what it is, for who knows its type and what it can do beside this trait: the debugger of a program opens
    /// the file of its saver once more, as the saver did. A saver around another one gives that one. `None` for a saver of
    /// which nobody is to know more than this trait says.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// Which checkpoint of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// The latest.
    Head,
    /// The one with this id.
    Id(CheckpointId),
    /// The newest one, going back from the head, for which this node is next.
    Before(NodeName),
    /// The one that the thread has this name for.
    Named(CheckpointName),
}

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
        /// What is wrong with it.
        reason: String,
    },
    /// Something is larger than it may be. What was to be written was not, and nothing is lost: take something out of it, or
    /// keep that elsewhere. What was read is refused: it may be made to fill the memory. Raise the
    /// [limits](crate::state::SizeLimits) of the store if it is not.
    #[error("{place} has {excess}, which the limits of the store do not allow")]
    TooLarge {
        /// Which row, or what was to be written.
        place: String,
        /// What it has too much of.
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
    /// A run that held the thread's lease has lost it: another one took it over after it had been silent for too long, or
    /// somebody broke it. Nothing that the loser writes is stored any more.
    #[error("the lease of thread {thread} was lost{}", .to.as_ref().map(|to| alloc::format!(" to {to}")).unwrap_or_default())]
    LeaseLost {
        /// The thread.
        thread: ThreadId,
        /// Who holds it now.
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
        /// What is to be done about it.
        problem: KeyProblem,
    },
    /// Reading or writing failed. The saver reopens its file before it is used again.
    #[error("the store failed: {0}")]
    Io(#[source] BoxError),
}

impl StoreError {
    /// Nothing goes on from a [pruned](super::Source::Pruned) checkpoint.
    #[must_use]
    pub fn pruned(thread: &ThreadId, id: CheckpointId) -> Self {
        let checkpoint = alloc::format!("{id}: it was pruned, and only its state is left");
        Self::NoCheckpoint { thread: thread.clone(), checkpoint }
    }
}
