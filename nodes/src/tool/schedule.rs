//! The order in which calls begin.

use std::collections::{BTreeMap, VecDeque};

use super::{Concurrency, ExecutionPolicy};

/// The order in which calls begin: a queue that only its head leaves, and the calls that run. It does not depend on the
/// calls themselves.
#[derive(Debug)]
pub(super) struct Schedule {
    policy: ExecutionPolicy,
    handed_in: usize,
    waiting: VecDeque<(usize, Concurrency)>,
    running: BTreeMap<usize, Concurrency>,
}

impl Schedule {
    pub(super) fn new(policy: ExecutionPolicy) -> Self {
        Self { policy, handed_in: 0, waiting: VecDeque::new(), running: BTreeMap::new() }
    }

    /// Adds a call at the end of the queue and returns its position among all calls.
    pub(super) fn hand_in(&mut self, concurrency: Concurrency) -> usize {
        let position = self.handed_in;
        self.handed_in += 1;
        self.waiting.push_back((position, concurrency));
        position
    }

    /// Takes the head of the queue, if it may begin now: it runs from then on.
    pub(super) fn begin(&mut self) -> Option<usize> {
        let (position, concurrency) = *self.waiting.front()?;
        if !self.running.is_empty() && !self.fits(concurrency) {
            return None;
        }
        self.waiting.pop_front();
        self.running.insert(position, concurrency);
        Some(position)
    }

    /// Tells whether a call may begin beside those that run.
    fn fits(&self, concurrency: Concurrency) -> bool {
        let ExecutionPolicy::ParallelSafe { at_most } = self.policy else { return false };
        self.running.len() < at_most.get()
            && concurrency == Concurrency::Safe
            && self.running.values().all(|running| *running == Concurrency::Safe)
    }

    /// Notes that a call has ended.
    pub(super) fn end(&mut self, position: usize) {
        let ended = self.running.remove(&position);
        debug_assert!(ended.is_some(), "only what runs can end");
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::Concurrency::{Alone, Safe};
    use super::*;

    fn schedule(policy: ExecutionPolicy, calls: &[Concurrency]) -> Schedule {
        let mut schedule = Schedule::new(policy);
        calls.iter().for_each(|concurrency| {
            schedule.hand_in(*concurrency);
        });
        schedule
    }

    fn begun(schedule: &mut Schedule) -> Vec<usize> {
        std::iter::from_fn(|| schedule.begin()).collect()
    }

    #[test]
    fn s2_146_safe_calls_begin_together() {
        let mut schedule = schedule(ExecutionPolicy::PARALLEL_SAFE, &[Safe, Safe, Safe]);
        assert_eq!(begun(&mut schedule), [0, 1, 2]);
    }

    #[test]
    fn s2_147_an_unsafe_call_waits_for_all_before_it_and_all_after_it_wait() {
        let mut schedule = schedule(ExecutionPolicy::PARALLEL_SAFE, &[Safe, Safe, Alone, Safe]);
        assert_eq!(begun(&mut schedule), [0, 1]);
        schedule.end(0);
        assert!(begun(&mut schedule).is_empty(), "the last one is safe, but comes after one that waits");
        schedule.end(1);
        assert_eq!(begun(&mut schedule), [2]);
        schedule.end(2);
        assert_eq!(begun(&mut schedule), [3]);
    }

    #[test]
    fn no_more_than_the_limit_run() {
        let at_most = NonZeroUsize::new(2).unwrap();
        let mut schedule = schedule(ExecutionPolicy::ParallelSafe { at_most }, &[Safe, Safe, Safe]);
        assert_eq!(begun(&mut schedule), [0, 1]);
        schedule.end(1);
        assert_eq!(begun(&mut schedule), [2]);
    }

    #[test]
    fn the_limit_is_ten_by_default() {
        let mut schedule = schedule(ExecutionPolicy::default(), &[Safe; 11]);
        assert_eq!(begun(&mut schedule).len(), 10);
    }

    #[test]
    fn a_sequence_is_one_after_the_other() {
        let mut schedule = schedule(ExecutionPolicy::Sequential, &[Safe, Safe]);
        assert_eq!(begun(&mut schedule), [0]);
        schedule.end(0);
        assert_eq!(begun(&mut schedule), [1]);
    }

    #[test]
    fn what_comes_later_begins_when_it_may() {
        let mut schedule = schedule(ExecutionPolicy::PARALLEL_SAFE, &[Safe]);
        assert_eq!(begun(&mut schedule), [0]);
        assert_eq!(schedule.hand_in(Safe), 1);
        assert_eq!(begun(&mut schedule), [1]);
        assert_eq!(schedule.hand_in(Alone), 2);
        assert!(begun(&mut schedule).is_empty());
    }
}
