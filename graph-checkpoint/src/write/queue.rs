//! The requests that wait to be written.

use std::ops::Deref;
use std::sync::Arc;

use superstep_core::checkpoint::{Checkpoint, LeaseRecord, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};
use tokio::sync::oneshot;

use crate::write::commit_timing::CommitTiming;
use crate::write::job_queue::JobQueue;
use crate::write::turn::Turn;

/// The kind of a request, which the writer must know beside its work.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A commit. After a failed transaction the file says whether it is stored.
    Commit {
        thread: ThreadId,
        checkpoint: Arc<Checkpoint>,
        /// `true` if it is a flush as well.
        is_last: bool,
    },
    /// The result of a task on `base`. Its failure is told to the next caller of its thread.
    Result { thread: ThreadId, base: CheckpointId },
    /// The outcome of an effect, which would be unknown if it were not stored: it is tried again.
    Outcome,
    /// Makes everything on the thread as durable as was promised.
    Flush(ThreadId),
    /// A deletion or an import, which read much.
    Long,
    /// Anything else.
    Short,
}

/// The outcome of a request's work: `Err` in the inner result is told to the caller as it is, whatever it is. An outer
/// one is first seen to: it may end the transaction.
pub(crate) type Outcome<T> = Result<Result<T, StoreError>, StoreError>;

/// The work of a request, and its answer once it is done.
trait Task: Send {
    fn apply(&mut self, turn: &mut Turn<'_>) -> Result<(), StoreError>;
    fn refuse(&mut self, error: StoreError);
    fn answer(self: Box<Self>);
}

struct Call<T, W> {
    work: W,
    answer: Option<Result<T, StoreError>>,
    reply: Option<oneshot::Sender<Result<T, StoreError>>>,
}

impl<T: Send, W: FnMut(&mut Turn<'_>) -> Outcome<T> + Send> Task for Call<T, W> {
    fn apply(&mut self, turn: &mut Turn<'_>) -> Result<(), StoreError> {
        self.answer = Some((self.work)(turn)?);
        Ok(())
    }

    fn refuse(&mut self, error: StoreError) {
        self.answer = Some(Err(error));
    }

    fn answer(self: Box<Self>) {
        if let (Some(reply), Some(answer)) = (self.reply, self.answer) {
            // A caller that no longer waits does not want to know.
            let _unwanted = reply.send(answer);
        }
    }
}

/// A request, with the caller that waits for it. No caller waits for results, failures and values that were drawn.
pub(crate) struct Job {
    pub(crate) kind: Kind,
    /// The lease with which it is allowed, or not at all; `None` where it needs none.
    pub(crate) lease: Option<Arc<LeaseRecord>>,
    pub(crate) is_waited_for: bool,
    task: Box<dyn Task>,
}

/// The answer of the writer, once it is there.
pub(crate) type Reply<T> = oneshot::Receiver<Result<T, StoreError>>;

impl Job {
    /// A request whose caller waits for the answer.
    pub(crate) fn waited_for<T: Send + 'static>(
        kind: Kind,
        lease: Option<Arc<LeaseRecord>>,
        work: impl FnMut(&mut Turn<'_>) -> Outcome<T> + Send + 'static,
    ) -> (Self, Reply<T>) {
        let (reply, answer) = oneshot::channel();
        let task = Box::new(Call { work, answer: None, reply: Some(reply) });
        (Self { kind, lease, is_waited_for: true, task }, answer)
    }

    /// A request for which nobody waits.
    pub(crate) fn handed_over(
        kind: Kind,
        lease: Option<Arc<LeaseRecord>>,
        mut work: impl FnMut(&mut Turn<'_>) -> Result<(), StoreError> + Send + 'static,
    ) -> Self {
        let work = move |turn: &mut Turn<'_>| work(turn).map(Ok);
        Self { kind, lease, is_waited_for: false, task: Box::new(Call { work, answer: None, reply: None }) }
    }

    /// A request that does nothing: what was handed over before it is written when it is answered.
    pub(crate) fn settle() -> (Self, Reply<()>) {
        Self::waited_for(Kind::Short, None, |_| Ok(Ok(())))
    }

    /// Returns whether a job that could not be written is tried again before its caller hears of the failure. Writing
    /// such a job twice changes nothing.
    pub(crate) fn is_tried_again(&self) -> bool {
        !self.is_waited_for || matches!(self.kind, Kind::Outcome)
    }

    /// Does the work, inside the transaction that is open.
    pub(crate) fn apply(&mut self, turn: &mut Turn<'_>) -> Result<(), StoreError> {
        self.task.apply(turn)
    }

    /// Lets the answer be this error.
    pub(crate) fn refuse(&mut self, error: StoreError) {
        self.task.refuse(error);
    }

    /// Tells the caller the answer.
    pub(crate) fn answer(self) {
        self.task.answer();
    }
}

/// The requests that wait to be written, and how long writing takes.
pub(crate) struct Queue {
    waiting: JobQueue<Job>,
    pub(crate) timing: CommitTiming,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self { waiting: JobQueue::new(), timing: CommitTiming::default() }
    }

    pub(crate) fn push(&self, job: Job) {
        if job.is_waited_for { self.waiting.push(job) } else { self.waiting.push_unwaited(job) }
    }
}

impl Deref for Queue {
    type Target = JobQueue<Job>;

    fn deref(&self) -> &JobQueue<Job> {
        &self.waiting
    }
}

/// A caller that waits for an answer of the writer, and may give up.
pub(crate) struct Waiter<'q> {
    pub(crate) queue: &'q Queue,
    pub(crate) answered: bool,
}

impl Drop for Waiter<'_> {
    /// A cancelled caller's request still runs, and the next read sees its result: a run that was dropped could
    /// otherwise overtake the run that continues it.
    fn drop(&mut self) {
        if !self.answered {
            self.queue.push(Job::handed_over(Kind::Short, None, |_| Ok(())));
        }
    }
}
