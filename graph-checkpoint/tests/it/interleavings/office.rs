//! The users of the queue: a writer thread, callers that wait for their jobs, callers that do not, and callers that run
//! waiting jobs themselves when the writer is idle. As in the saver, without a file.

use std::sync::{Arc, PoisonError, TryLockError};

use shuttle::sync::mpsc::{Sender, channel};
use shuttle::sync::{Mutex, MutexGuard};
use shuttle::thread;

use super::job_queue::JobQueue;

/// A job with its caller, its number per caller from 0, and the waiting caller.
pub(crate) struct Job {
    caller: usize,
    number: usize,
    reply: Option<Sender<()>>,
}

/// The queue, or one without a guard.
pub(crate) trait Line: Send + Sync + 'static {
    fn new() -> Self;
    fn queue(&self) -> &JobQueue<Job>;

    fn push(&self, job: Job) {
        self.queue().push(job);
    }

    fn rouse(&self) {
        self.queue().rouse();
    }

    fn put_back(&self, jobs: Vec<Job>) {
        self.queue().put_back(jobs);
    }
}

impl Line for JobQueue<Job> {
    fn new() -> Self {
        Self::new()
    }

    fn queue(&self) -> &JobQueue<Job> {
        self
    }
}

/// Wakes the writer for a job that is not queued yet.
pub(crate) struct NotifiesFirst(JobQueue<Job>);

impl Line for NotifiesFirst {
    fn new() -> Self {
        Self(JobQueue::new())
    }

    fn queue(&self) -> &JobQueue<Job> {
        &self.0
    }

    fn push(&self, job: Job) {
        self.0.rouse();
        self.0.push_quietly(job);
    }
}

/// Leaves jobs that it could not run where the writer does not look.
pub(crate) struct WakesNoOther(JobQueue<Job>);

impl Line for WakesNoOther {
    fn new() -> Self {
        Self(JobQueue::new())
    }

    fn queue(&self) -> &JobQueue<Job> {
        &self.0
    }

    fn rouse(&self) {}
}

/// Puts earlier jobs back behind later ones.
pub(crate) struct PutsBackLast(JobQueue<Job>);

impl Line for PutsBackLast {
    fn new() -> Self {
        Self(JobQueue::new())
    }

    fn queue(&self) -> &JobQueue<Job> {
        &self.0
    }

    fn put_back(&self, jobs: Vec<Job>) {
        jobs.into_iter().for_each(|job| self.0.push_quietly(job));
    }
}

/// The jobs that were done: per caller, the number of the next job.
type Ledger = Option<[usize; CALLERS]>;

const CALLERS: usize = 3;
const JOBS: usize = 3;

/// A queue with its writer and its ledger.
pub(crate) struct Office<L> {
    line: L,
    ledger: Mutex<Ledger>,
}

impl<L: Line> Office<L> {
    /// All jobs of all callers, to the end.
    pub(crate) fn day() {
        let office = Arc::new(Self { line: L::new(), ledger: Mutex::new(Some([0; CALLERS])) });
        let writer = {
            let office = Arc::clone(&office);
            thread::spawn(move || office.serve())
        };
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let office = Arc::clone(&office);
                thread::spawn(move || office.call(caller))
            })
            .collect();
        callers.into_iter().for_each(|caller| caller.join().expect("it was answered"));
        office.line.queue().close();
        assert_eq!(writer.join().expect("it ends when there is no more"), [JOBS; CALLERS]);
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer: runs waiting jobs until no more will come. Returns all finished jobs.
    fn serve(&self) -> [usize; CALLERS] {
        while self.line.queue().wait() {
            if let Some(done) = self.ledger().as_mut() {
                Self::write(self.line.queue(), done);
            }
        }
        self.ledger().take().expect("there is one writer")
    }

    fn write(queue: &JobQueue<Job>, done: &mut [usize; CALLERS]) {
        let jobs = queue.take();
        for Job { caller, number, reply } in jobs {
            assert_eq!(done[caller], number, "a job was lost, done twice, or done too early");
            done[caller] += 1;
            if let Some(reply) = reply {
                // A caller that no longer waits ignores the result.
                let _unwanted = reply.send(());
            }
        }
    }

    /// A caller: waits only for its last job. One caller queues its jobs; one runs the waiting jobs itself; and one
    /// finds the file in use by others and leaves the job to the writer.
    fn call(&self, caller: usize) {
        let (reply, told) = channel();
        for number in 0..JOBS {
            let reply = (number + 1 == JOBS).then(|| reply.clone());
            let waited = reply.is_some();
            let job = Job { caller, number, reply };
            match caller {
                1 | 2 if waited => self.write_here(job, caller == 2),
                _ => self.line.push(job),
            }
        }
        told.recv().expect("the writer answers");
    }

    fn write_here(&self, job: Job, is_busy: bool) {
        let mut held = match self.ledger.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => return self.line.push(job),
        };
        self.line.queue().push_quietly(job);
        if is_busy {
            let jobs = self.line.queue().take();
            self.line.put_back(jobs);
        } else if let Some(done) = held.as_mut() {
            Self::write(self.line.queue(), done);
        }
        drop(held);
        self.line.rouse();
    }
}
