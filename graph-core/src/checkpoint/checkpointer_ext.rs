//! The requests of [`Checkpointer`], one method each.

use alloc::vec::Vec;

use super::checkpointer::{At, Checkpointer};
use super::lease::{Acquired, Claim, LeaseRecord, LeaseReply, LeaseRequest};
use super::model::StepRecord;
use super::name::NamedCheckpoint;
use super::scan::{Page, PastScan, Scan, ThreadScan};
use super::store_error::StoreError;
use super::work::{Answered, Answers, EffectWrite, Work};
use super::{
    AskRecord, Carried, EffectId, EffectOutcome, EffectRecord, FailureRecord, Loaded, Summary, TaskResult,
    ThreadSummary,
};
use crate::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use crate::state::Json;

/// Takes the page of the requested kind.
macro_rules! page {
    ($page:expr, $kind:ident) => {
        match $page {
            Page::$kind(rows) => Ok(rows),
            _ => Err(mismatch(stringify!($kind))),
        }
    };
}

/// Methods of every [`Checkpointer`]: one for each kind of request, with its own return type.
pub trait CheckpointerExt: Checkpointer {
    /// Reads a checkpoint with its unfinished work; `None` if the thread has no checkpoint. See
    /// [`Checkpointer::load`].
    fn read(
        &self,
        thread: &ThreadId,
        at: At,
    ) -> impl Future<Output = Result<Option<Loaded>, StoreError>> + Send {
        async move { Ok(self.load(thread, at, None).await?.loaded()) }
    }

    /// Stores the result of a task, and returns the one that counts. See [`Work::Finished`].
    fn record_result(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> impl Future<Output = Result<TaskResult, StoreError>> + Send {
        async move {
            let counts = self.record(thread, base, Work::Finished(result)).await?;
            counts.ok_or_else(|| mismatch("the result that counts"))
        }
    }

    /// Stores the result of a task, durably, and returns the one that counts. Asks the saver three times: for
    /// [`record`](Checkpointer::record), [`flush`](Checkpointer::flush), and the head.
    ///
    /// # Errors
    /// Returns [`StoreError::Superseded`] if `base` is not the thread's head.
    fn record_checked(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> impl Future<Output = Result<TaskResult, StoreError>> + Send {
        async move {
            let counts = self.record_result(thread, base, result).await?;
            self.flush(thread).await?;
            let head = self.history(thread, At::Head, 1).await?.pop();
            let is_head = head.is_some_and(|head| head.id == base);
            if is_head { Ok(counts) } else { Err(StoreError::Superseded { thread: thread.clone(), base }) }
        }
    }

    /// Stores the failure of a task. See [`Work::Failure`].
    fn fail(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        failure: FailureRecord,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async move { self.record(thread, base, Work::Failure(failure)).await.map(drop) }
    }

    /// Stores the questions of paused tasks. See [`Work::Asks`].
    fn ask(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async move { self.record(thread, base, Work::Asks(asks)).await.map(drop) }
    }

    /// Answers questions of a thread. Returns its head and the work on top of it. See [`Answers::Given`].
    fn answer_all(
        &self,
        thread: &ThreadId,
        answers: Vec<(InterruptId, Json)>,
    ) -> impl Future<Output = Result<(CheckpointId, Carried), StoreError>> + Send {
        async move {
            match self.answer(Answers::Given { thread: thread.clone(), answers }).await? {
                Answered::OnHead { head, work } => Ok((head, work)),
                Answered::Expired(_) => Err(mismatch("the head with the answers")),
            }
        }
    }

    /// Answers overdue questions with their defaults, and returns them. See [`Answers::Overdue`].
    fn expire(
        &self,
        graph: &NodeName,
        thread: Option<&ThreadId>,
        now_ms: u64,
    ) -> impl Future<Output = Result<Vec<(ThreadId, AskRecord)>, StoreError>> + Send {
        let overdue = Answers::Overdue { graph: graph.clone(), thread: thread.cloned(), now_ms };
        async move {
            match self.answer(overdue).await? {
                Answered::Expired(asks) => Ok(asks),
                Answered::OnHead { .. } => Err(mismatch("the expired questions")),
            }
        }
    }

    /// Records that an effect is about to start. See [`EffectWrite::Begin`].
    fn begin_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> impl Future<Output = Result<Option<EffectRecord>, StoreError>> + Send {
        async move { self.effect(thread, base, EffectWrite::Begin(effect)).await }
    }

    /// Records the outcome of an effect. See [`EffectWrite::End`].
    fn end_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectId,
        outcome: EffectOutcome,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        let end = EffectWrite::End { effect: effect.clone(), outcome };
        async move { self.effect(thread, base, end).await.map(drop) }
    }

    /// Records a drawn value. See [`EffectWrite::Note`].
    fn note_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async move { self.effect(thread, base, EffectWrite::Note(effect)).await.map(drop) }
    }

    /// Lists all threads, by name.
    fn threads(&self) -> impl Future<Output = Result<Vec<ThreadSummary>, StoreError>> + Send {
        self.threads_of(ThreadScan::default())
    }

    /// Lists the threads of a graph that have next tasks, by name.
    fn unfinished(
        &self,
        graph: &NodeName,
    ) -> impl Future<Output = Result<Vec<ThreadSummary>, StoreError>> + Send {
        self.threads_of(ThreadScan { graph: Some(graph.clone()), unfinished: true, ..ThreadScan::default() })
    }

    /// Lists a page of threads. See [`Scan::Threads`].
    fn threads_of(
        &self,
        scan: ThreadScan,
    ) -> impl Future<Output = Result<Vec<ThreadSummary>, StoreError>> + Send {
        async move { page!(self.scan(Scan::Threads(scan)).await?, Threads) }
    }

    /// Lists the open questions of a graph. See [`Scan::Asks`].
    fn open_asks(
        &self,
        graph: &NodeName,
    ) -> impl Future<Output = Result<Vec<(ThreadId, AskRecord)>, StoreError>> + Send {
        let scan = Scan::Asks { graph: graph.clone() };
        async move { page!(self.scan(scan).await?, Asks) }
    }

    /// Lists a thread's past. See [`Scan::History`].
    fn history(
        &self,
        thread: &ThreadId,
        from: At,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Summary>, StoreError>> + Send {
        let scan = Scan::History(PastScan { thread: thread.clone(), from, limit });
        async move { page!(self.scan(scan).await?, Summaries) }
    }

    /// Lists the steps of a thread. See [`Scan::Steps`].
    fn steps(
        &self,
        thread: &ThreadId,
        from: At,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StepRecord>, StoreError>> + Send {
        let scan = Scan::Steps(PastScan { thread: thread.clone(), from, limit });
        async move { page!(self.scan(scan).await?, Steps) }
    }

    /// Lists the tree that contains a thread. See [`Scan::Lineage`].
    fn lineage(&self, thread: &ThreadId) -> impl Future<Output = Result<Vec<Summary>, StoreError>> + Send {
        let scan = Scan::Lineage { thread: thread.clone() };
        async move { page!(self.scan(scan).await?, Summaries) }
    }

    /// Lists a thread's names for checkpoints. See [`Scan::Names`].
    fn names(
        &self,
        thread: &ThreadId,
    ) -> impl Future<Output = Result<Vec<NamedCheckpoint>, StoreError>> + Send {
        let scan = Scan::Names { thread: thread.clone() };
        async move { page!(self.scan(scan).await?, Names) }
    }

    /// Lists the leases. See [`Scan::Leases`].
    fn leases(&self) -> impl Future<Output = Result<Vec<LeaseRecord>, StoreError>> + Send {
        async move { page!(self.scan(Scan::Leases).await?, Leases) }
    }

    /// Acquires a thread's lease. See [`LeaseRequest::Acquire`].
    fn acquire(&self, claim: Claim) -> impl Future<Output = Result<Acquired, StoreError>> + Send {
        async move {
            match self.lease(LeaseRequest::Acquire(claim)).await? {
                LeaseReply::Held(lease) => Ok(Acquired::Now(lease)),
                LeaseReply::HeldByAnother(lease) => Ok(Acquired::Held(lease)),
                LeaseReply::Free(_) | LeaseReply::Renewed(_) => Err(mismatch("the lease")),
            }
        }
    }

    /// Renews a lease from now on. See [`LeaseRequest::Renew`].
    fn renew(&self, lease: &LeaseRecord) -> impl Future<Output = Result<LeaseRecord, StoreError>> + Send {
        let request = LeaseRequest::Renew(lease.clone());
        async move {
            match self.lease(request).await? {
                LeaseReply::Held(lease) => Ok(lease),
                LeaseReply::HeldByAnother(_) | LeaseReply::Free(_) | LeaseReply::Renewed(_) => {
                    Err(mismatch("the lease"))
                }
            }
        }
    }

    /// Renews several leases from now on; `None` for a lost one. See [`LeaseRequest::RenewAll`].
    fn renew_all(
        &self,
        leases: Vec<LeaseRecord>,
    ) -> impl Future<Output = Result<Vec<Option<LeaseRecord>>, StoreError>> + Send {
        let count = leases.len();
        let request = LeaseRequest::RenewAll(leases);
        async move {
            match self.lease(request).await? {
                LeaseReply::Renewed(leases) if leases.len() == count => Ok(leases),
                _ => Err(mismatch("the leases")),
            }
        }
    }

    /// Releases a lease. See [`LeaseRequest::Release`].
    fn release(&self, lease: &LeaseRecord) -> impl Future<Output = Result<(), StoreError>> + Send {
        let request = LeaseRequest::Release(lease.clone());
        async move { self.lease(request).await.map(drop) }
    }

    /// Breaks a thread's lease, and returns it. See [`LeaseRequest::Break`].
    fn break_lease(
        &self,
        thread: &ThreadId,
    ) -> impl Future<Output = Result<Option<LeaseRecord>, StoreError>> + Send {
        let request = LeaseRequest::Break(thread.clone());
        async move {
            match self.lease(request).await? {
                LeaseReply::Free(broken) => Ok(broken),
                LeaseReply::Held(_) | LeaseReply::HeldByAnother(_) | LeaseReply::Renewed(_) => {
                    Err(mismatch("a broken lease"))
                }
            }
        }
    }
}

impl<C: Checkpointer + ?Sized> CheckpointerExt for C {}

/// Returns the error of a saver whose answer is of another kind than the request.
fn mismatch(expected: &'static str) -> StoreError {
    StoreError::Io(alloc::format!("the saver's answer is not what was asked for: {expected}").into())
}
