//! The signal that a run has ended, for code that its tasks leave running.
//!
//! It only uses the primitives of [`sync`](super::sync), so that tests of interleavings can replace them.

use alloc::vec::Vec;
use core::future::poll_fn;
use core::task::{Poll, Waker};

use super::sync::{AtomicBool, Mutex, Ordering};

/// The signal, set once when the run ends. Remaining tasks then start no further effects.
#[derive(Default)]
pub(crate) struct Revoked {
    set: AtomicBool,
    /// The wakers to call when something may have ended.
    waiting: Mutex<Vec<Waker>>,
}

impl Revoked {
    pub(crate) fn set(&self) {
        if !self.set.swap(true, Ordering::AcqRel) {
            self.wake();
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Wakes all waiting tasks, so that they check their condition again.
    pub(crate) fn wake(&self) {
        let waiting = core::mem::take(&mut *self.waiting.lock());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits until `ended` returns `true`. It is called whenever something may have ended.
    pub(crate) async fn until(&self, ended: impl Fn() -> bool) {
        poll_fn(|context| {
            if ended() {
                return Poll::Ready(());
            }
            let mut waiting = self.waiting.lock();
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            drop(waiting);
            // The end may have come before the waker was on the list.
            if ended() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
