//! Feeds: the latest events of a run, for programs that do not drive it.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::ring::{Next, Ring};
use super::view::{View, Views};
use crate::id::RunId;
use crate::run::runtime::event::{EventKind, Observer, RunEvent};

/// The latest events of one run, for any number of subscribers. Created by
/// [`RunRequest::feed`](crate::run::RunRequest::feed).
///
/// It never slows the run down: a subscriber that is too slow, or comes back too late, receives the numbers of the
/// events that it missed. It is cheap to clone, and clones share the events.
#[derive(Clone)]
pub struct Feed {
    ring: Arc<Ring<RunEvent>>,
}

/// An event of a [`Feed`], or a gap, as a subscriber receives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// An event.
    Event(Arc<RunEvent>),
    /// The range of events, both ends included, that are no longer in the feed, because the subscriber was too
    /// slow.
    Missed {
        /// The first missed event.
        from: u64,
        /// The last missed event.
        to: u64,
    },
}

/// One subscriber of a [`Feed`].
pub struct Subscription {
    ring: Arc<Ring<RunEvent>>,
    next: u64,
    views: Views,
}

impl Feed {
    pub(in crate::run) fn new(capacity: usize) -> (Self, FeedWriter) {
        let ring = Arc::new(Ring::new(capacity));
        (Self { ring: Arc::clone(&ring) }, FeedWriter(ring))
    }

    /// Subscribes to future events.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        let next = self.ring.next();
        self.subscribe_from(next)
    }

    /// Subscribes from the event with this sequence number on: 0 for all events. A subscriber that comes back uses
    /// the number after the last one that it received.
    #[must_use]
    pub fn subscribe_from(&self, seq: u64) -> Subscription {
        Subscription { ring: Arc::clone(&self.ring), next: seq, views: View::Debug.into() }
    }
}

impl Subscription {
    /// Selects the events of these views; by default, all events that are built.
    ///
    /// Values and updates are built if [`RunRequest::include`](crate::run::RunRequest::include) asks for them.
    #[must_use]
    pub fn view(self, views: impl Into<Views>) -> Self {
        Self { views: views.into(), ..self }
    }

    /// Returns the run of the feed, as far as it is known from its events.
    pub(in crate::run) fn run(&self) -> Option<RunId> {
        self.ring.oldest().map(|event| event.run)
    }

    /// Returns `true` if there has been an event.
    pub(in crate::run) fn is_begun(&self) -> bool {
        self.ring.next() > 0
    }

    /// Returns the next event, or the range of missed events; `None` after the last event of the run.
    pub async fn next(&mut self) -> Option<Received> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Received>> {
        let views = self.views;
        let next = self.ring.poll_next(&mut self.next, |event| views.shows(&event.kind), context);
        next.map(|next| {
            next.map(|next| match next {
                Next::Item(event) => Received::Event(event),
                Next::Missed { from, to } => Received::Missed { from, to },
            })
        })
    }
}

/// Fills a feed. The feed ends when this is dropped, even if the run was dropped.
pub(in crate::run) struct FeedWriter(Arc<Ring<RunEvent>>);

impl Observer for FeedWriter {
    fn on_event(&self, event: &RunEvent) {
        self.0.push(event.seq, || event.clone());
        let ends = matches!(event.kind, EventKind::RunFinished { .. } | EventKind::RunFailed { .. });
        if ends && event.path.is_empty() {
            self.0.end();
        }
    }
}

impl Drop for FeedWriter {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (next, ended) = (self.ring.next(), self.ring.is_ended());
        f.debug_struct("Feed").field("next", &next).field("ended", &ended).finish_non_exhaustive()
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
