//! Every interleaving of the threads that end a run, wait for its end, or write and read a feed.
//!
//! [Loom] runs each test in every order in which its threads can reach their locks and atomics, with up to
//! [`PREEMPTIONS`] preemptions, and with every visibility of writes that the memory model allows. No thread sleeps:
//! a thread that would have to wait registers a waker, and the test checks at the end that the waker was called.
//!
//! The tests compile the crate's own sources a second time. These name their primitives through a module `sync`,
//! which contains loom's primitives here, so no flag is needed.
//!
//! Each property has a mutant, a wrapper without one guard, for which the test must fail.
//!
//! [Loom]: https://docs.rs/loom

mod cancel;
mod feed;
mod node;
mod stream;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use loom::model::Builder;

/// The maximum number of preemptions of threads that could continue.
const PREEMPTIONS: usize = 3;

/// Runs `test` in every interleaving.
fn everywhere(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(test);
}

/// Returns `true` if `test` fails in some interleaving.
fn fails(test: impl Fn() + Send + Sync + 'static) -> bool {
    catch_unwind(AssertUnwindSafe(|| everywhere(test))).is_err()
}

/// A waker that records whether it was called.
#[derive(Default)]
struct Sleeper(AtomicBool);

impl Sleeper {
    /// Returns `true` if the waker was called since the last time.
    fn was_woken(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}
