//! The primitives of the writer's queue. Tests of interleavings replace them with others.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::thread::yield_now;

/// The number of times that the writer looks for more work before it sleeps: a few dozen microseconds in all.
pub(crate) const LINGER: u32 = 64;
