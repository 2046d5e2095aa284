//! Write access to the in-memory saver, which wakes the tasks that wait for changes.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};
use core::task::Waker;
use std::sync::MutexGuard;

use super::store::Store;
use crate::checkpoint::watch::Mark;

/// The store, locked for writing. When it is dropped, it wakes the tasks that watch the store.
pub(super) struct Writing<'s>(pub(super) MutexGuard<'s, Store>);

/// The number of writes, and the tasks that wait for the next one.
#[derive(Default)]
pub(super) struct Changes {
    count: u128,
    waiting: Vec<Waker>,
}

impl Changes {
    pub(super) fn mark(&self) -> Mark {
        Mark::from_bytes(self.count.to_le_bytes())
    }

    /// Registers a task to be woken at the next write.
    pub(super) fn wake(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|waiting| waiting.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }
}

impl Deref for Writing<'_> {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.0
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Store {
        &mut self.0
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.changes.count += 1;
        self.0.changes.waiting.drain(..).for_each(Waker::wake);
    }
}
