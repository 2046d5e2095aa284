//! Which calls run at the same time.

use std::num::NonZeroUsize;

/// Whether a call may run beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// It may run beside others that are safe, too.
    Safe,
    /// It runs alone.
    Alone,
}

/// Which calls run at the same time. Under every policy calls begin in their order, and their results come in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecutionPolicy {
    /// None: each call begins when the one before it has ended.
    Sequential,
    /// Those that are [`Concurrency::Safe`]. A call begins if nothing runs, or if it is safe and so is all that runs;
    /// never before one that waits.
    ParallelSafe {
        /// How many run at the same time at most.
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
