//! That a run has ended, for what its tasks left behind.
//!
//! It names no primitive but those of [`sync`](super::sync): its interleavings are tested with others.

use alloc::vec::Vec;
use core::future::poll_fn;
use core::task::{Poll, Waker};

use super::sync::{AtomicBool, Mutex, Ordering};

/// Set once, when the run ends: what is left of its tasks starts no further effect.
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

    /// Lets those who wait look again.
    pub(crate) fn wake(&self) {
        let waiting = core::mem::take(&mut *self.waiting.lock());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits until `ended` holds; it is looked at whenever something may have ended.
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
            // It may have ended before we were on the list.
            if ended() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
