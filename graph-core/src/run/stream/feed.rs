//! Feeds: the latest events of a run, for those who do not drive it.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::vec::Vec;

use super::view::{View, Views};
use crate::id::RunId;
use crate::run::event::{EventKind, Observer, RunEvent};

/// The latest events of one run, for any number of subscribers who come and go. Made by
/// [`RunRequest::feed`](crate::run::RunRequest::feed).
///
/// It never slows the run: a subscriber that is too slow, or was away for too long, is told which events it
/// missed. Cheap to clone: clones share the events.
#[derive(Clone)]
pub struct Feed {
    ring: Arc<Ring>,
}

struct Ring {
    capacity: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    events: VecDeque<Arc<RunEvent>>,
    /// The sequence number of the next event.
    next: u64,
    ended: bool,
    waiting: Vec<Waker>,
}

/// What a subscriber receives.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// An event.
    Event(Arc<RunEvent>),
    /// These events, the last one included, are no longer in the feed: the subscriber was too slow.
    Missed {
        /// The first one that was missed.
        from: u64,
        /// The last one.
        to: u64,
    },
}

/// One subscriber of a [`Feed`].
pub struct Subscription {
    ring: Arc<Ring>,
    next: u64,
    views: Views,
}

impl Feed {
    pub(in crate::run) fn new(capacity: usize) -> (Self, FeedWriter) {
        let ring = Arc::new(Ring { capacity, inner: Mutex::default() });
        (Self { ring: Arc::clone(&ring) }, FeedWriter(ring))
    }

    /// Subscribes to the events that are still to come.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        let next = self.ring.inner().next;
        self.subscribe_from(next)
    }

    /// Subscribes from the event with this sequence number on: 0 for all of them, or for a subscriber that comes
    /// back the number after the last one that it has seen.
    #[must_use]
    pub fn subscribe_from(&self, seq: u64) -> Subscription {
        Subscription { ring: Arc::clone(&self.ring), next: seq, views: View::Debug.into() }
    }
}

impl Subscription {
    /// Shows only the events of these views; without, all that are built.
    ///
    /// Values and updates are built where [`RunRequest::include`](crate::run::RunRequest::include) asks for them.
    #[must_use]
    pub fn view(self, views: impl Into<Views>) -> Self {
        Self { views: views.into(), ..self }
    }

    /// The run whose feed it is, as far as its events tell.
    pub(in crate::run) fn run(&self) -> Option<RunId> {
        self.ring.inner().events.front().map(|event| event.run)
    }

    /// Whether there has been an event.
    pub(in crate::run) fn is_begun(&self) -> bool {
        self.ring.inner().next > 0
    }

    /// The next event, or which ones were missed; `None` after the last event of the run.
    pub async fn next(&mut self) -> Option<Received> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Received>> {
        let mut inner = self.ring.inner();
        let first = inner.next - inner.events.len() as u64;
        if self.next < first {
            let missed = Received::Missed { from: self.next, to: first - 1 };
            self.next = first;
            return Poll::Ready(Some(missed));
        }
        while self.next < inner.next {
            let at = usize::try_from(self.next - first).expect("a place in memory");
            let event = &inner.events[at];
            self.next += 1;
            if self.views.shows(&event.kind) {
                return Poll::Ready(Some(Received::Event(Arc::clone(event))));
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

impl Ring {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.inner();
        change(&mut inner);
        let waiting = take(&mut inner.waiting);
        drop(inner);
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// Fills a feed. Its end is the feed's end, also where the run was dropped.
pub(in crate::run) struct FeedWriter(Arc<Ring>);

impl Observer for FeedWriter {
    fn on_event(&self, event: &RunEvent) {
        self.0.change(|inner| {
            if inner.ended {
                return;
            }
            if inner.events.len() == self.0.capacity {
                inner.events.pop_front();
            }
            if self.0.capacity > 0 {
                inner.events.push_back(Arc::new(event.clone()));
            }
            inner.next = event.seq + 1;
            let ends = matches!(event.kind, EventKind::RunFinished { .. } | EventKind::RunFailed { .. });
            inner.ended = ends && event.path.is_empty();
        });
    }
}

impl Drop for FeedWriter {
    fn drop(&mut self) {
        self.0.change(|inner| inner.ended = true);
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.ring.inner();
        f.debug_struct("Feed").field("next", &inner.next).field("ended", &inner.ended).finish_non_exhaustive()
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("next", &self.next)
            .field("views", &self.views)
            .finish_non_exhaustive()
    }
}
