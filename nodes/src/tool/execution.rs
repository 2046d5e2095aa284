//! Calls that run as a policy allows.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::num::NonZeroUsize;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::schedule::Schedule;

/// Runs calls as a policy allows, and gives their results in the order of the calls, whatever order they end in.
///
/// Calls are handed in one by one, also while others run: that is how a call that a model streams begins as soon as its
/// input is complete. They make progress only while [`next`](Self::next) is awaited.
///
/// An execution does not depend on tools: a call is a future, most often
/// [`PreparedCall::run`](super::PreparedCall::run), which always ends in a result. A call that was cancelled before it
/// began ends as soon as its turn comes.
///
/// ```
/// use superstep_nodes::tool::{Concurrency, Execution, ExecutionPolicy};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let mut execution = Execution::new(ExecutionPolicy::PARALLEL_SAFE);
/// for call in 1..=3 {
///     execution.hand_in(Concurrency::Safe, async move { call * call });
/// }
/// assert_eq!(execution.rest().await, [1, 4, 9]);
/// # });
/// ```
pub struct Execution<'a, T> {
    schedule: Schedule,
    /// The calls that wait, in the order of the schedule's queue.
    waiting: VecDeque<BoxFuture<'a, T>>,
    running: FuturesUnordered<BoxFuture<'a, (usize, T)>>,
    /// Results that wait for those of calls before them.
    ended: BTreeMap<usize, T>,
    /// The position of the call whose result is given next.
    next: usize,
    handed_in: usize,
}

impl<'a, T: Send + 'a> Execution<'a, T> {
    /// Makes an execution of no calls yet.
    pub fn new(policy: ExecutionPolicy) -> Self {
        Self {
            schedule: Schedule::new(policy),
            waiting: VecDeque::new(),
            running: FuturesUnordered::new(),
            ended: BTreeMap::new(),
            next: 0,
            handed_in: 0,
        }
    }

    /// Adds a call after those that were handed in before.
    pub fn hand_in(&mut self, concurrency: Concurrency, call: impl Future<Output = T> + Send + 'a) {
        self.schedule.hand_in(concurrency);
        self.waiting.push_back(Box::pin(call));
        self.handed_in += 1;
    }

    /// Tells whether the result of every call that was handed in has been given.
    pub fn is_done(&self) -> bool {
        self.next == self.handed_in
    }

    /// Waits for the result of the next call in order; `None` if there is none until more are handed in.
    ///
    /// Nothing is lost if the future is dropped: a caller that streams may select between this, while the execution is
    /// not
    /// [done](Self::is_done), and the next event of the model.
    pub async fn next(&mut self) -> Option<T> {
        loop {
            self.begin();
            if let Some(result) = self.ended.remove(&self.next) {
                self.next += 1;
                return Some(result);
            }
            let (position, result) = self.running.next().await?;
            self.schedule.end(position);
            self.ended.insert(position, result);
        }
    }

    /// Waits for the results of all calls that were handed in and have not been given, in order.
    pub async fn rest(mut self) -> Vec<T> {
        let mut results = Vec::with_capacity(self.handed_in - self.next);
        while let Some(result) = self.next().await {
            results.push(result);
        }
        results
    }

    /// Begins what may.
    fn begin(&mut self) {
        while let Some(position) = self.schedule.begin() {
            let call = self.waiting.pop_front().expect("the schedule's queue has as many calls as this one");
            self.running.push(Box::pin(async move { (position, call.await) }));
        }
    }
}

impl<T> fmt::Debug for Execution<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution").field("schedule", &self.schedule).finish_non_exhaustive()
    }
}

/// The concurrency of a call: beside others, or alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// It may run beside others that are safe, too.
    Safe,
    /// It runs alone.
    Alone,
}

/// The policy on the calls that run at the same time. Under every policy calls begin in their order, and their results
/// are returned in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecutionPolicy {
    /// Each call begins when the one before it has ended.
    Sequential,
    /// Calls that are [`Concurrency::Safe`] run at the same time. A call begins if nothing runs, or if it is safe and
    /// so are all that run; never before one that waits.
    ParallelSafe {
        /// The maximum number of calls that run at the same time.
        at_most: NonZeroUsize,
    },
}

impl ExecutionPolicy {
    /// Up to ten safe calls at the same time.
    pub const PARALLEL_SAFE: Self =
        Self::ParallelSafe { at_most: NonZeroUsize::new(10).expect("ten is not zero") };
}

impl Default for ExecutionPolicy {
    /// [`ExecutionPolicy::PARALLEL_SAFE`].
    fn default() -> Self {
        Self::PARALLEL_SAFE
    }
}

#[cfg(test)]
mod tests;
