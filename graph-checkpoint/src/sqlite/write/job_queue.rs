//! A queue of jobs, and the wait of the thread that runs them.
//!
//! It uses only the primitives of [`sync`](super::sync), and no file: tests replace the primitives to check all
//! interleavings.

use std::mem::take;
use std::sync::PoisonError;

use super::sync::{Condvar, LINGER, Mutex, MutexGuard, yield_now};

/// The jobs that wait to be done.
pub(crate) struct JobQueue<J> {
    inner: Mutex<Inner<J>>,
    wake: Condvar,
}

struct Inner<J> {
    jobs: Vec<J>,
    closed: bool,
    /// `true` if the thread sleeps and was not woken yet. Waking a thread that does not sleep is a system call, too.
    asleep: bool,
}

impl<J> JobQueue<J> {
    pub(crate) fn new() -> Self {
        let inner = Inner { jobs: Vec::new(), closed: false, asleep: false };
        Self { inner: Mutex::new(inner), wake: Condvar::new() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner<J>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job.
    pub(crate) fn push(&self, job: J) {
        let mut inner = self.inner();
        inner.jobs.push(job);
        self.wake(inner);
    }

    /// Adds a job that the caller is about to run itself.
    pub(crate) fn push_quietly(&self, job: J) {
        self.inner().jobs.push(job);
    }

    /// Wakes the sleeping thread if jobs are left.
    pub(crate) fn rouse(&self) {
        let inner = self.inner();
        if !inner.jobs.is_empty() {
            self.wake(inner);
        }
    }

    /// Wakes the thread if it sleeps.
    fn wake(&self, mut inner: MutexGuard<'_, Inner<J>>) {
        let asleep = take(&mut inner.asleep);
        drop(inner);
        if asleep {
            self.wake.notify_one();
        }
    }

    /// Closes the queue: no more jobs are added.
    pub(crate) fn close(&self) {
        let mut inner = self.inner();
        inner.closed = true;
        self.wake(inner);
    }

    pub(crate) fn take(&self) -> Vec<J> {
        take(&mut self.inner().jobs)
    }

    /// Puts unfinished jobs back, before all newer ones.
    pub(crate) fn put_back(&self, mut jobs: Vec<J>) {
        let mut inner = self.inner();
        jobs.append(&mut inner.jobs);
        inner.jobs = jobs;
    }

    /// Waits for jobs; returns `false` if there are none and the queue is closed.
    ///
    /// After a commit, a run sends the next request within a few microseconds, and waking a sleeping thread takes
    /// longer than that, so this function polls for a short time first.
    pub(crate) fn wait(&self) -> bool {
        for _ in 0..LINGER {
            if !self.inner().jobs.is_empty() {
                return true;
            }
            yield_now();
        }
        let mut inner = self.inner();
        while inner.jobs.is_empty() && !inner.closed {
            inner.asleep = true;
            inner = self.wake.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner.asleep = false;
        !inner.jobs.is_empty()
    }
}
