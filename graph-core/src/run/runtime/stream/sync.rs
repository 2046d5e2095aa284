//! What the ring of a feed is made of. Tests of interleavings put other primitives in its place.

pub(super) use std::sync::{Mutex, MutexGuard};
