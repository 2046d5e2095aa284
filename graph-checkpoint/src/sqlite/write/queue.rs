//! The queue of requests to the writer.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use superstep_core::checkpoint::{Checkpoint, LeaseRecord, Recorded, Source, StoreError, TaskResult};
use superstep_core::id::{CheckpointId, ThreadId};
use tokio::sync::oneshot;

use crate::sqlite::write::commit_timing::CommitTiming;
use crate::sqlite::write::job_queue::JobQueue;
use crate::sqlite::write::turn::Turn;

/// The kind of a request, which determines how the writer treats it.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A commit. After a failed transaction, the file is read to find out if the commit is stored.
    Commit {
        thread: ThreadId,
        checkpoint: Arc<Checkpoint>,
        recorded: Option<Recorded>,
        /// `true` if the commit also flushes.
        is_last: bool,
    },
    /// The result of a task on `base`. Its error is returned to the thread's next caller.
    Result { thread: ThreadId, base: CheckpointId, result: Arc<TaskResult> },
    /// The outcome of an effect, which is tried again after a failure, because otherwise it would stay unknown.
    Outcome,
    /// A request to make everything on the thread as durable as the options promise.
    Flush(ThreadId),
    /// A request about the processes that work on the file. A power failure may undo it: it ends those processes, too,
    /// and every later commit makes it durable.
    Unsynced,
    /// A deletion or an import, which read many rows.
    Long,
    /// Any other request.
    Short,
}

/// The outcome of a request's work. `Err` in the inner result is returned to the caller unchanged. The writer handles
/// an outer error first: it may end the transaction.
pub(crate) type Outcome<T> = Result<Result<T, StoreError>, StoreError>;

/// The work of a request, and its reply once it is done.
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
            // A caller that no longer waits does not need the reply.
            let _unwanted = reply.send(answer);
        }
    }
}

/// The work of a result, which its kind contains.
impl Task for () {
    fn apply(&mut self, _: &mut Turn<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn refuse(&mut self, _: StoreError) {}

    fn answer(self: Box<Self>) {}
}

/// A request, with the caller that waits for it. No caller waits for results, failures and drawn values.
pub(crate) struct Job {
    pub(crate) kind: Kind,
    /// The lease that the request requires; `None` if it needs none.
    pub(crate) lease: Option<Arc<LeaseRecord>>,
    pub(crate) is_waited_for: bool,
    task: Box<dyn Task>,
}

/// A receiver of the writer's reply.
pub(crate) type Reply<T> = oneshot::Receiver<Result<T, StoreError>>;

impl Job {
    /// Creates a request whose caller waits for the reply.
    pub(crate) fn waited_for<T: Send + 'static>(
        kind: Kind,
        lease: Option<Arc<LeaseRecord>>,
        work: impl FnMut(&mut Turn<'_>) -> Outcome<T> + Send + 'static,
    ) -> (Self, Reply<T>) {
        let (reply, answer) = oneshot::channel();
        let task = Box::new(Call { work, answer: None, reply: Some(reply) });
        (Self { kind, lease, is_waited_for: true, task }, answer)
    }

    /// Creates a request without a waiting caller.
    pub(crate) fn handed_over(
        kind: Kind,
        lease: Option<Arc<LeaseRecord>>,
        mut work: impl FnMut(&mut Turn<'_>) -> Result<(), StoreError> + Send + 'static,
    ) -> Self {
        let work = move |turn: &mut Turn<'_>| work(turn).map(Ok);
        Self { kind, lease, is_waited_for: false, task: Box::new(Call { work, answer: None, reply: None }) }
    }

    /// Creates a request to record a result.
    pub(crate) fn result(
        thread: ThreadId,
        base: CheckpointId,
        result: Arc<TaskResult>,
        lease: Option<Arc<LeaseRecord>>,
    ) -> Self {
        Self { kind: Kind::Result { thread, base, result }, lease, is_waited_for: false, task: Box::new(()) }
    }

    /// Creates a request that does nothing: all earlier requests are written when its reply arrives.
    pub(crate) fn settle() -> (Self, Reply<()>) {
        Self::waited_for(Kind::Short, None, |_| Ok(Ok(())))
    }

    /// Returns `true` if a job that could not be written is tried again before its caller receives the error. Writing
    /// such a job twice has no further effect.
    pub(crate) fn is_tried_again(&self) -> bool {
        !self.is_waited_for || matches!(self.kind, Kind::Outcome)
    }

    /// Runs the work inside the open transaction.
    pub(crate) fn apply(&mut self, turn: &mut Turn<'_>) -> Result<(), StoreError> {
        match &self.kind {
            Kind::Result { thread, base, result } => turn.record(thread, *base, result),
            _ => self.task.apply(turn),
        }
    }

    /// Returns the result that is to be recorded, if that is the request.
    pub(crate) fn recorded_result(&self) -> Option<&TaskResult> {
        match &self.kind {
            Kind::Result { result, .. } => Some(result),
            _ => None,
        }
    }

    /// Returns the superstep to which a result belongs, or which a commit ends: its thread, its base, and the fence of
    /// the holder's lease.
    fn superstep(&self) -> Option<(&ThreadId, CheckpointId, Option<u64>)> {
        let (thread, base) = match &self.kind {
            Kind::Result { thread, base, .. } => (thread, *base),
            Kind::Commit { thread, checkpoint, .. } if checkpoint.source == Source::Loop => {
                (thread, checkpoint.parent?)
            }
            _ => return None,
        };
        Some((thread, base, self.lease.as_ref().map(|lease| lease.fence)))
    }

    /// Returns the number of results of one superstep with which `jobs` begins, and `true` if the job after them is the
    /// commit that ends the superstep.
    pub(crate) fn results_before_commit(jobs: &[Self]) -> (usize, bool) {
        let superstep = jobs.first().and_then(Self::superstep);
        let belongs = |job: &&Self| matches!(job.kind, Kind::Result { .. }) && job.superstep() == superstep;
        let results = jobs.iter().take_while(belongs).count();
        (results, jobs.get(results).is_some_and(|job| superstep.is_some() && job.superstep() == superstep))
    }

    /// Sets the reply to this error.
    pub(crate) fn refuse(&mut self, error: StoreError) {
        self.task.refuse(error);
    }

    /// Sends the reply to the caller.
    pub(crate) fn answer(self) {
        self.task.answer();
    }
}

/// The requests to the writer, and the duration of recent writes.
pub(crate) struct Queue {
    waiting: JobQueue<Job>,
    unsettled: Mutex<Unsettled>,
    pub(crate) timing: CommitTiming,
}

/// The requests without a waiting caller that are not written yet.
#[derive(Default)]
struct Unsettled {
    /// The number of results, by thread.
    results: HashMap<ThreadId, usize>,
    /// The number of other requests, of any thread.
    others: usize,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self { waiting: JobQueue::new(), unsettled: Mutex::default(), timing: CommitTiming::default() }
    }

    pub(crate) fn push(&self, job: Job) {
        if job.is_waited_for {
            return self.waiting.push(job);
        }
        let mut unsettled = self.unsettled();
        match &job.kind {
            Kind::Result { thread, .. } => *unsettled.results.entry(thread.clone()).or_default() += 1,
            _ => unsettled.others += 1,
        }
        drop(unsettled);
        self.waiting.push(job);
    }

    /// Records that requests are written, or have failed.
    pub(crate) fn settled(&self, jobs: &[Job]) {
        let mut unsettled = self.unsettled();
        for job in jobs.iter().filter(|job| !job.is_waited_for) {
            match &job.kind {
                Kind::Result { thread, .. } => {
                    if let Some(left) = unsettled.results.get_mut(thread) {
                        *left -= 1;
                        if *left == 0 {
                            unsettled.results.remove(thread);
                        }
                    }
                }
                _ => unsettled.others -= 1,
            }
        }
    }

    /// Returns `true` if a request without a waiting caller that may concern this thread is not written yet; of any
    /// thread if `thread` is `None`.
    pub(crate) fn is_unsettled_on(&self, thread: Option<&ThreadId>) -> bool {
        let unsettled = self.unsettled();
        let concerns = |result: &ThreadId| thread.is_none_or(|thread| result.is_on_or_below(thread));
        unsettled.others > 0 || unsettled.results.keys().any(concerns)
    }

    fn unsettled(&self) -> MutexGuard<'_, Unsettled> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Queue {
    type Target = JobQueue<Job>;

    fn deref(&self) -> &JobQueue<Job> {
        &self.waiting
    }
}

/// A caller that waits for a reply of the writer, and may be cancelled.
pub(crate) struct Waiter<'q> {
    pub(crate) queue: &'q Queue,
    pub(crate) answered: bool,
}

impl Drop for Waiter<'_> {
    /// Adds an empty job, for which the next read waits. The cancelled request still runs, and that read sees its
    /// result; otherwise a dropped run could overtake the run that continues it.
    fn drop(&mut self) {
        if !self.answered {
            self.queue.push(Job::handed_over(Kind::Short, None, |_| Ok(())));
        }
    }
}
