//! The latest of what one writes, for any number who read it when they come to it.
//!
//! It names no primitive but those of [`sync`](super::sync), and nothing of a run: its interleavings are tested with
//! other primitives.

use std::collections::VecDeque;
use std::mem::take;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::vec::Vec;

use super::sync::{Mutex, MutexGuard};

/// The latest items, numbered without a gap. It never holds more than its capacity, and whoever writes never waits.
pub(crate) struct Ring<T> {
    capacity: usize,
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    items: VecDeque<Arc<T>>,
    /// The number of the next item.
    next: u64,
    ended: bool,
    waiting: Vec<Waker>,
}

/// The next item for a reader, or the items that it missed.
#[derive(Debug)]
pub(crate) enum Next<T> {
    Item(Arc<T>),
    /// These items, the last one included, are no longer in the ring.
    Missed {
        from: u64,
        to: u64,
    },
}

impl<T> Ring<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        let inner = Inner { items: VecDeque::new(), next: 0, ended: false, waiting: Vec::new() };
        Self { capacity, inner: Mutex::new(inner) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next item.
    pub(crate) fn next(&self) -> u64 {
        self.inner().next
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.inner().ended
    }

    /// The oldest item that is there.
    pub(crate) fn oldest(&self) -> Option<Arc<T>> {
        self.inner().items.front().cloned()
    }

    /// Adds the item with this number. Nothing comes after the end.
    pub(crate) fn push(&self, number: u64, item: impl FnOnce() -> T) {
        self.change(|capacity, inner| {
            if inner.ended {
                return;
            }
            if inner.items.len() == capacity {
                inner.items.pop_front();
            }
            if capacity > 0 {
                inner.items.push_back(Arc::new(item()));
            }
            inner.next = number + 1;
        });
    }

    /// Nothing more will come.
    pub(crate) fn end(&self) {
        self.change(|_, inner| inner.ended = true);
    }

    fn change(&self, change: impl FnOnce(usize, &mut Inner<T>)) {
        let mut inner = self.inner();
        change(self.capacity, &mut inner);
        let waiting = take(&mut inner.waiting);
        drop(inner);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Polls for the next item from `place` on that `wanted` accepts, and advances `place`; `None` at the end.
    pub(crate) fn poll_next(
        &self,
        place: &mut u64,
        wanted: impl Fn(&T) -> bool,
        context: &Context<'_>,
    ) -> Poll<Option<Next<T>>> {
        let mut inner = self.inner();
        let first = inner.next - inner.items.len() as u64;
        if *place < first {
            let missed = Next::Missed { from: *place, to: first - 1 };
            *place = first;
            return Poll::Ready(Some(missed));
        }
        while *place < inner.next {
            let item = &inner.items[usize::try_from(*place - first).expect("a place in memory")];
            *place += 1;
            if wanted(item) {
                return Poll::Ready(Some(Next::Item(Arc::clone(item))));
            }
        }
        if inner.ended {
            return Poll::Ready(None);
        }
        if !inner.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            inner.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}
