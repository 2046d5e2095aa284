//! A ring of the latest items of one writer, for any number of readers.
//!
//! It only uses the primitives of [`sync`](super::sync) and no types of a run, so that its interleavings can be
//! tested with other primitives.

use std::collections::VecDeque;
use std::mem::take;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::vec::Vec;

use super::sync::{Mutex, MutexGuard};

/// The latest items, numbered without gaps. It never contains more items than its capacity, and the writer never
/// waits.
pub(crate) struct Ring<T> {
    capacity: usize,
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    items: VecDeque<Arc<T>>,
    /// Returns the number of the next item.
    next: u64,
    ended: bool,
    waiting: Vec<Waker>,
}

/// The next item for a reader, or the items that it missed.
#[derive(Debug)]
pub(crate) enum Next<T> {
    Item(Arc<T>),
    /// The range of items, both ends included, that are no longer in the ring.
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

    /// Returns the number of the next item.
    pub(crate) fn next(&self) -> u64 {
        self.inner().next
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.inner().ended
    }

    /// Returns the oldest item in the ring.
    pub(crate) fn oldest(&self) -> Option<Arc<T>> {
        self.inner().items.front().cloned()
    }

    /// Adds the item with this number, unless the ring has ended.
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

    /// Ends the ring: no more items will come.
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
