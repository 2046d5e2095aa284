//! What the end of a run is told with. Tests of interleavings put other primitives in its place.

pub(super) use core::sync::atomic::{AtomicBool, Ordering};

pub(super) use spin::Mutex;
