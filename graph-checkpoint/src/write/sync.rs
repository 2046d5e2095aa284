//! What the writer's queue is made of. Tests of interleavings put other primitives in its place.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::thread::yield_now;

/// How often the writer looks for more work before it sleeps: a few dozen microseconds in all.
pub(crate) const LINGER: u32 = 64;
