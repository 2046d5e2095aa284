//! The sources of `run/runtime/stream` that use synchronisation primitives, compiled with those of loom.

#[expect(dead_code, reason = "the feed uses all of it, and the test some")]
#[path = "../../../src/run/runtime/stream/ring.rs"]
pub(crate) mod ring;

mod sync {
    pub(super) use loom::sync::{Mutex, MutexGuard};
}
