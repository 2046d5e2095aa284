//! The primitives that the ring of a feed uses. Tests of interleavings replace them with others.

pub(super) use std::sync::{Mutex, MutexGuard};
