//! The primitives of the writer's queue. Tests of interleavings replace them.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::thread::yield_now;

/// The number of times that the writer polls for more work before it sleeps: a few dozen microseconds in total.
pub(crate) const LINGER: u32 = 64;
