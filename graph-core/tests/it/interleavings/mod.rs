//! Every interleaving of the threads that end a run, wait for its end, or write and read a feed.
//!
//! [Loom] runs each test in every order in which its threads may come to their locks and atomics, with up to
//! [`PREEMPTIONS`] switches away from a thread that could go on, and in every way in which what one writes may be seen
//! by the others. Nobody sleeps in them: whoever would have to wait says how it could be woken, and at the end it must
//! have been.
//!
//! The sources are those of the crate, compiled once more: they name their primitives through a module `sync`, and here
//! that has loom's. So no flag is needed, and nothing else is compiled twice.
//!
//! Each property has a mutant, a wrapper without one guard, that is seen to fail.
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

/// So often a thread that could go on may be stopped in favour of another.
const PREEMPTIONS: usize = 3;

/// Runs `test` in every interleaving.
fn everywhere(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(test);
}

/// Whether `test` fails in some interleaving.
fn fails(test: impl Fn() + Send + Sync + 'static) -> bool {
    catch_unwind(AssertUnwindSafe(|| everywhere(test))).is_err()
}

/// Somebody who would sleep until woken.
#[derive(Default)]
struct Sleeper(AtomicBool);

impl Sleeper {
    /// Whether it was woken; it may sleep again then.
    fn was_woken(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}
