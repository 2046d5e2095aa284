//! Shuttle's primitives, by the names that the queue uses.

pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use shuttle::thread::yield_now;

/// A few polls are enough, because every order is tried.
pub(crate) const LINGER: u32 = 1;
