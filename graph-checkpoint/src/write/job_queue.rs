//! Jobs that wait for whoever does them, and the sleep of that one.
//!
//! It names no primitive but those of [`sync`](super::sync), and nothing of a file: its interleavings are tested with
//! other primitives.

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
    /// Jobs nobody waits for that are not yet settled.
    unsettled: usize,
    closed: bool,
}

impl<J> JobQueue<J> {
    pub(crate) fn new() -> Self {
        let inner = Inner { jobs: Vec::new(), unsettled: 0, closed: false };
        Self { inner: Mutex::new(inner), wake: Condvar::new() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner<J>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job that somebody waits for.
    pub(crate) fn push(&self, job: J) {
        self.inner().jobs.push(job);
        self.wake.notify_one();
    }

    /// Adds a job that nobody waits for. It is unsettled until [`settled`](Self::settled) counts it.
    pub(crate) fn push_unwaited(&self, job: J) {
        let mut inner = self.inner();
        inner.unsettled += 1;
        inner.jobs.push(job);
        drop(inner);
        self.wake.notify_one();
    }

    /// Adds a job that the caller is about to do itself.
    pub(crate) fn push_quietly(&self, job: J) {
        self.inner().jobs.push(job);
    }

    /// Wakes who sleeps if something is left.
    pub(crate) fn rouse(&self) {
        if !self.inner().jobs.is_empty() {
            self.wake.notify_one();
        }
    }

    /// Returns `true` if a job that no caller waits for is not yet settled.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.inner().unsettled > 0
    }

    /// There will be no more.
    pub(crate) fn close(&self) {
        self.inner().closed = true;
        self.wake.notify_one();
    }

    pub(crate) fn take(&self) -> Vec<J> {
        take(&mut self.inner().jobs)
    }

    /// Puts back what must not be lost, before anything newer.
    pub(crate) fn put_back(&self, mut jobs: Vec<J>) {
        let mut inner = self.inner();
        jobs.append(&mut inner.jobs);
        inner.jobs = jobs;
    }

    pub(crate) fn settled(&self, count: usize) {
        if count > 0 {
            self.inner().unsettled -= count;
        }
    }

    /// Waits for work; `false` when there is none and there will be none.
    ///
    /// A run that is told of its commit asks for the next one a few microseconds later, and waking a sleeping
    /// thread takes longer than that: so it lingers a little first.
    pub(crate) fn wait(&self) -> bool {
        for _ in 0..LINGER {
            if !self.inner().jobs.is_empty() {
                return true;
            }
            yield_now();
        }
        let mut inner = self.inner();
        while inner.jobs.is_empty() && !inner.closed {
            inner = self.wake.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        !inner.jobs.is_empty()
    }
}
