//! The synchronisation primitives of the signal that a run has ended. Tests of interleavings replace them.

pub(super) use core::sync::atomic::{AtomicBool, Ordering};

pub(super) use spin::Mutex;
