//! What waits to be written.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use superstep_core::checkpoint::{
    Acquired, AskRecord, Claim, Commit, Committed, EffectId, EffectOutcome, EffectRecord, FailureRecord,
    GraphDescription, LeaseRecord, StoreError, TaskResult,
};
use superstep_core::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use superstep_core::state::Json;
use tokio::sync::oneshot;

use crate::pace::Pace;
use crate::portable::Document;

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

/// A request with who waits for it; nobody waits for records, failures and ends of effects.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) request: Request,
    /// The lease with which it is allowed, or not at all; `None` for whoever needs none.
    pub(crate) lease: Option<Arc<LeaseRecord>>,
    pub(crate) reply: Option<oneshot::Sender<Answer>>,
}

impl Job {
    pub(crate) fn tell(self, answer: Answer) {
        if let Some(reply) = self.reply {
            // Who no longer waits does not want to know.
            let _unwanted = reply.send(answer);
        }
    }
}

/// What waits to be written.
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    wake: Condvar,
    pub(crate) pace: Pace,
}

#[derive(Default)]
struct Waiting {
    jobs: Vec<Job>,
    /// Jobs nobody waits for that are not yet committed.
    unsettled: usize,
    closed: bool,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self { waiting: Mutex::default(), wake: Condvar::new(), pace: Pace::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, job: Job) {
        let mut waiting = self.waiting();
        if job.reply.is_none() {
            waiting.unsettled += 1;
        }
        waiting.jobs.push(job);
        drop(waiting);
        self.wake.notify_one();
    }

    /// Adds a job that the caller is about to write itself.
    pub(crate) fn push_quietly(&self, job: Job) {
        self.waiting().jobs.push(job);
    }

    /// Wakes the writer thread if something is left.
    pub(crate) fn rouse(&self) {
        if !self.waiting().jobs.is_empty() {
            self.wake.notify_one();
        }
    }

    /// Whether something nobody waits for is not yet committed.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.waiting().unsettled > 0
    }

    pub(crate) fn close(&self) {
        self.waiting().closed = true;
        self.wake.notify_one();
    }

    pub(crate) fn take(&self) -> Vec<Job> {
        core::mem::take(&mut self.waiting().jobs)
    }

    /// Puts back what must not be lost, before anything newer.
    pub(crate) fn put_back(&self, mut jobs: Vec<Job>) {
        let mut waiting = self.waiting();
        jobs.append(&mut waiting.jobs);
        waiting.jobs = jobs;
    }

    pub(crate) fn settled(&self, count: usize) {
        if count > 0 {
            self.waiting().unsettled -= count;
        }
    }

    /// Waits for work; `false` when there is none and there will be none.
    ///
    /// A run that is told of its commit asks for the next one a few microseconds later, and waking a sleeping
    /// thread takes longer than that: so it lingers a little first.
    pub(crate) fn wait(&self) -> bool {
        for _ in 0..LINGER {
            if !self.waiting().jobs.is_empty() {
                return true;
            }
            std::thread::yield_now();
        }
        let waiting = self.waiting();
        let waiting = self
            .wake
            .wait_while(waiting, |waiting| waiting.jobs.is_empty() && !waiting.closed)
            .unwrap_or_else(PoisonError::into_inner);
        !waiting.jobs.is_empty()
    }
}

/// How often the writer looks for more work before it sleeps: a few dozen microseconds in all.
const LINGER: u32 = 64;
