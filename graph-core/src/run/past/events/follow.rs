//! The events of a thread's past, followed by those of a live run.

use std::fmt;
use std::sync::Arc;

use super::position::EventPosition;
use super::reader::PastEvents;
use super::told::Unfinished;
use crate::checkpoint::{At, StoreError};
use crate::id::CheckpointId;
use crate::run::runtime::event::{EventKind, RunEvent};
use crate::run::runtime::stream::feed::{Feed, Received, Subscription};
use crate::run::runtime::thread_error::ThreadError;

/// The events of a thread's past, followed by those of a live run. Created by [`PastEvents::follow`].
#[must_use = "events are read with `next`"]
pub struct Followed {
    past: PastEvents,
    is_past: bool,
    live: Subscription,
    known: Known,
}

/// The live events that are already returned, or cannot be returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Not determined yet.
    Unclear,
    /// None.
    Nothing,
    /// Those up to this checkpoint.
    UpTo(CheckpointId),
    /// Some were missed. Those up to the next checkpoint come from the store.
    Torn,
    /// The missed ones have come from the store.
    Mended,
    /// All of them.
    Everything,
}

/// An event of a thread, from its past or live.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadEvent {
    /// The position from which to continue after this event, in any process; `None` for a live event whose
    /// superstep has no checkpoint yet.
    pub position: Option<EventPosition>,
    /// The event. Events of the past and of the run are numbered separately.
    pub event: RunEvent,
}

impl PastEvents {
    /// Returns these events, followed by those of the thread's latest run, whose feed is `feed`. No event is returned
    /// twice or left out.
    ///
    /// The unfinished work of earlier runs comes before the events of this run. Questions and failures of this run from
    /// before its past was read cannot be told apart from those of earlier runs, and come with them.
    ///
    /// If the feed has dropped events, their superstep is read from the store as soon as its checkpoint is stored.
    /// Events of that superstep that were already returned are then returned again.
    pub fn follow(self, feed: &Feed) -> Followed {
        // From here on no event is lost, even though the past is read later.
        let live = feed.subscribe_from(0);
        Followed { past: self, is_past: true, live, known: Known::Unclear }
    }
}

impl Followed {
    /// Returns the next event; `None` after the last one of the run.
    ///
    /// # Errors
    /// Returns the errors of [`PastEvents::next`].
    pub async fn next(&mut self) -> Result<Option<ThreadEvent>, ThreadError> {
        loop {
            if self.is_past {
                if self.known == Known::Unclear {
                    self.past.tell_unfinished(self.left_before());
                }
                if let Some(told) = self.past.next().await? {
                    return Ok(Some(ThreadEvent { position: Some(told.position), event: told.event }));
                }
                self.is_past = false;
            }
            match self.live.next().await {
                Some(Received::Event(event)) => {
                    if let Some(told) = self.live_event(event).await? {
                        return Ok(Some(told));
                    }
                }
                Some(Received::Missed { .. }) => {
                    if self.known != Known::Everything {
                        self.known = Known::Torn;
                    }
                }
                None if self.known == Known::Torn => {
                    self.read_on(At::Head);
                    self.known = Known::Everything;
                }
                None => return Ok(None),
            }
        }
    }

    /// Returns which unfinished work to rebuild: the events of the run itself come from its feed.
    fn left_before(&self) -> Unfinished {
        match self.live.run() {
            None if self.live.is_begun() => Unfinished::Nothing,
            None => Unfinished::All,
            Some(run) if self.past.run == Some(run) => Unfinished::Nothing,
            Some(run) => Unfinished::Before(run),
        }
    }

    /// Returns a live event, unless it must be skipped.
    async fn live_event(&mut self, event: Arc<RunEvent>) -> Result<Option<ThreadEvent>, ThreadError> {
        if self.known == Known::Unclear {
            self.known = match self.past.position {
                Some(last) if self.past.run == Some(event.run) && last.index > 0 => Known::Everything,
                Some(last) if self.past.run == Some(event.run) => Known::UpTo(last.checkpoint),
                _ => Known::Nothing,
            };
        }
        if self.known == Known::Mended {
            // The last checkpoint of a run also contains the run's end.
            let has_ended = self.past.position.is_some_and(|last| last.index > 0);
            self.known = if has_ended { Known::Everything } else { Known::Nothing };
        }
        let saved = match event.kind {
            EventKind::CheckpointSaved { id, .. } if event.path.is_empty() => Some(id),
            _ => None,
        };
        match (self.known, saved) {
            (Known::Nothing, saved) => {
                let position = saved.map(EventPosition::from);
                self.past.position = position.or(self.past.position);
                let is_shown = self.past.views().shows(&event.kind);
                Ok(is_shown.then(|| ThreadEvent { position, event: Arc::unwrap_or_clone(event) }))
            }
            (Known::UpTo(last), Some(saved)) => {
                if saved == last {
                    self.known = Known::Nothing;
                }
                Ok(None)
            }
            (Known::Torn, Some(saved)) => {
                self.mend(saved).await?;
                Ok(None)
            }
            (_, _) => Ok(None),
        }
    }

    /// Reads the missed events, up to a checkpoint that the run has stored.
    async fn mend(&mut self, saved: CheckpointId) -> Result<(), ThreadError> {
        let last = self.past.position;
        if last.is_some_and(|last| last.checkpoint == saved) {
            self.known = Known::Mended;
            return Ok(());
        }
        let mut missed = self.past.again(last, At::Id(saved));
        match missed.plan().await {
            Ok(()) => {
                (self.past, self.is_past, self.known) = (missed, true, Known::Mended);
                Ok(())
            }
            // The checkpoint is older than the events that were already returned.
            Err(StoreError::NoCheckpoint { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read_on(&mut self, to: At) {
        self.past = self.past.again(self.past.position, to);
        self.is_past = true;
    }
}

impl fmt::Debug for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Followed")
            .field("past", &self.past)
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}
