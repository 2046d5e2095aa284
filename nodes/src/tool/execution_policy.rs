//! Policies on the calls that run at the same time.

use std::num::NonZeroUsize;

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
