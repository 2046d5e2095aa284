//! What waits to be written.

use std::ops::Deref;
use std::sync::Arc;

use superstep_core::checkpoint::{
    Acquired, AskRecord, Claim, Commit, Committed, EffectId, EffectOutcome, EffectRecord, FailureRecord,
    GraphDescription, LeaseRecord, Naming, StoreError, TaskResult,
};
use superstep_core::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use superstep_core::state::Json;
use tokio::sync::oneshot;

use crate::portable::Document;
use crate::write::pace::Pace;
use crate::write::waiting::Waiting;

/// What the writer is asked to do.
#[derive(Debug)]
pub(crate) enum Request {
    Register(GraphDescription),
    Commit(Box<Commit>),
    Record(ThreadId, CheckpointId, TaskResult),
    Fail(ThreadId, CheckpointId, FailureRecord),
    Ask(ThreadId, CheckpointId, Vec<AskRecord>),
    Answer(ThreadId, Vec<(InterruptId, Json)>),
    /// Let the deadlines of a graph's questions count that have passed by this time.
    Expire(NodeName, Option<ThreadId>, u64),
    BeginEffect(ThreadId, CheckpointId, EffectRecord),
    EndEffect(ThreadId, CheckpointId, EffectId, EffectOutcome),
    NoteEffect(ThreadId, CheckpointId, EffectRecord),
    Name(ThreadId, Naming),
    Fork(ThreadId, CheckpointId, ThreadId),
    Delete(NodeName, ThreadId),
    /// Store a document as a thread of this name.
    Import(Box<Document>, ThreadId),
    Acquire(Claim),
    Renew(LeaseRecord),
    Release(LeaseRecord),
    BreakLease(ThreadId),
    /// Make everything on the thread as durable as was promised, and say what went wrong.
    Flush(ThreadId),
    /// Write what is waiting; nothing else.
    Settle,
}

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Done {
    Nothing,
    Committed(Committed),
    /// The record that is there instead, of an effect that another run has begun.
    Begun(Option<Box<EffectRecord>>),
    Expired(Vec<(ThreadId, AskRecord)>),
    Acquired(Acquired),
    /// The lease as it stands now, or the one that was broken.
    Lease(Option<LeaseRecord>),
}

pub(crate) type Answer = Result<Done, StoreError>;

/// A request with the caller that waits for it; no caller waits for records, failures and values that were drawn.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) request: Request,
    /// The lease with which it is allowed, or not at all; `None` for whoever needs none.
    pub(crate) lease: Option<Arc<LeaseRecord>>,
    pub(crate) reply: Option<oneshot::Sender<Answer>>,
}

impl Job {
    /// Returns whether a job that could not be written is tried again before its caller hears of the failure: one without
    /// a caller, and the outcome of an effect, which would otherwise be unknown. Writing either twice changes nothing.
    pub(crate) fn is_tried_again(&self) -> bool {
        self.reply.is_none() || matches!(self.request, Request::EndEffect(..))
    }

    pub(crate) fn tell(self, answer: Answer) {
        if let Some(reply) = self.reply {
            // Who no longer waits does not want to know.
            let _unwanted = reply.send(answer);
        }
    }
}

/// What waits to be written, and how long writing takes.
pub(crate) struct Queue {
    waiting: Waiting<Job>,
    pub(crate) pace: Pace,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self { waiting: Waiting::new(), pace: Pace::default() }
    }

    pub(crate) fn push(&self, job: Job) {
        if job.reply.is_none() { self.waiting.push_unwaited(job) } else { self.waiting.push(job) }
    }
}

impl Deref for Queue {
    type Target = Waiting<Job>;

    fn deref(&self) -> &Waiting<Job> {
        &self.waiting
    }
}
