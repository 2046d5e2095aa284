//! The queue of events for the handle that drives their run.

use std::collections::VecDeque;
use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::vec::Vec;

use super::view::Views;
use crate::run::runtime::event::RunEvent;

/// The number of events that may wait for the handle before tasks are suspended. The events of one poll of a node
/// are added on top.
const ROOM: usize = 256;

/// A queue that loses nothing: the writer waits for room at the next boundary.
pub(crate) struct EventQueue {
    pub(in crate::run) views: Views,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    events: VecDeque<RunEvent>,
    reader: Option<Waker>,
    held_up: Vec<Waker>,
    /// `true` if there is no reader any longer.
    closed: bool,
}

impl EventQueue {
    pub(in crate::run) fn new(views: Views) -> Self {
        Self { views, inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::run) fn push(&self, event: &RunEvent) {
        if !self.views.shows(&event.kind) {
            return;
        }
        let mut inner = self.inner();
        if inner.closed {
            return;
        }
        inner.events.push_back(event.clone());
        let reader = inner.reader.take();
        drop(inner);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Takes the next event, if there is one.
    pub(in crate::run) fn pop(&self) -> Option<RunEvent> {
        let mut inner = self.inner();
        let event = inner.events.pop_front();
        // Suspended tasks are not woken at every event, so that none is woken for the room of one event.
        let held_up = if inner.events.len() <= ROOM / 2 { take(&mut inner.held_up) } else { Vec::new() };
        drop(inner);
        held_up.into_iter().for_each(Waker::wake);
        event
    }

    /// Takes the next event, or registers to be woken when there is one.
    pub(in crate::run) fn poll_pop(&self, context: &Context<'_>) -> Poll<RunEvent> {
        if let Some(event) = self.pop() {
            return Poll::Ready(event);
        }
        let mut inner = self.inner();
        match inner.events.pop_front() {
            Some(event) => Poll::Ready(event),
            None => {
                inner.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Waits until there is room.
    pub(in crate::run) fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        let mut inner = self.inner();
        if inner.events.len() < ROOM || inner.closed {
            return Poll::Ready(());
        }
        if !inner.held_up.iter().any(|waker| waker.will_wake(context.waker())) {
            inner.held_up.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Closes the queue because it has no reader any longer: later events are dropped, and no task is suspended.
    pub(in crate::run) fn close(&self) {
        let mut inner = self.inner();
        inner.closed = true;
        inner.events.clear();
        let held_up = take(&mut inner.held_up);
        drop(inner);
        held_up.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::RunId;
    use crate::run::View;
    use crate::run::runtime::event::EventKind;

    fn event(seq: u64) -> RunEvent {
        let kind = EventKind::RunFailed { message: "x".into() };
        RunEvent { seq, at_ms: 0, run: RunId(Uuid::nil()), path: Vec::new(), kind }
    }

    #[test]
    fn a_full_queue_holds_up_the_sender_and_loses_nothing() {
        let queue = EventQueue::new(View::Debug.into());
        let context = Context::from_waker(Waker::noop());
        let mut seq = 0;
        while queue.poll_room(&context).is_ready() {
            queue.push(&event(seq));
            seq += 1;
        }
        assert_eq!(seq, ROOM as u64);
        // Events that are emitted between two boundaries are kept as well.
        queue.push(&event(seq));
        assert_eq!(queue.inner().held_up.len(), 1);
        let popped: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|event| event.seq).collect();
        assert_eq!(popped, (0..=seq).collect::<Vec<_>>());
        assert!(queue.poll_room(&context).is_ready() && queue.inner().held_up.is_empty());
    }

    #[test]
    fn a_queue_without_a_reader_holds_up_no_sender() {
        let queue = EventQueue::new(View::Debug.into());
        let context = Context::from_waker(Waker::noop());
        (0..ROOM as u64).for_each(|seq| queue.push(&event(seq)));
        assert!(queue.poll_room(&context).is_pending());
        queue.close();
        assert!(queue.poll_room(&context).is_ready());
        queue.push(&event(9));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn only_what_a_view_shows_is_kept() {
        let queue = EventQueue::new(View::Custom.into());
        queue.push(&event(0));
        assert_eq!(queue.pop(), None);
    }
}
