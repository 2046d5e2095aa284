//! The primitives that signal the end of a run. Tests of interleavings replace them.

pub(super) use core::sync::atomic::{AtomicBool, Ordering};

pub(super) use spin::Mutex;
