//! Many small pieces of work on all processors.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs all the jobs; returns their results, in no order. A panic of one is a panic of all.
pub(crate) fn side_by_side<J: Send, T: Send>(jobs: Vec<J>, work: impl Fn(J) -> T + Sync) -> Vec<T> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let (jobs, done) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).pop();
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(job) = next() {
                    let result = work(job);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}
