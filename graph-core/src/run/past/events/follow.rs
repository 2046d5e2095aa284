//! The past of a thread, and then a run of it that goes on.

use std::fmt;
use std::sync::Arc;

use super::position::EventPosition;
use super::reader::PastEvents;
use super::told::Unfinished;
use crate::checkpoint::{At, StoreError};
use crate::id::CheckpointId;
use crate::run::runtime::error::ThreadError;
use crate::run::runtime::event::{EventKind, RunEvent};
use crate::run::runtime::stream::feed::{Feed, Received, Subscription};

/// The events of a thread's past, and then those of a run that goes on. Made by [`PastEvents::follow`].
#[must_use = "events are read with `next`"]
pub struct Followed {
    past: PastEvents,
    is_past: bool,
    live: Subscription,
    known: Known,
}

/// Which live events are told already, or cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Not looked at yet.
    Unclear,
    /// None.
    Nothing,
    /// Those up to this checkpoint.
    UpTo(CheckpointId),
    /// Some were missed: those up to the next checkpoint come from the store.
    Torn,
    /// Those that were missed have come from the store.
    Mended,
    /// All.
    Everything,
}

/// An event of a thread, from its past or live.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadEvent {
    /// Where to go on from after this event, in any process; `None` for a live event whose superstep has not come
    /// to its checkpoint yet.
    pub position: Option<EventPosition>,
    /// The event. Those of the past and those of the run are numbered apart.
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
        // From here on nothing gets lost, though the past is read later.
        let live = feed.subscribe_from(0);
        Followed { past: self, is_past: true, live, known: Known::Unclear }
    }
}

impl Followed {
    /// The next event; `None` after the last one of the run.
    ///
    /// # Errors
    /// Those of [`PastEvents::next`].
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

    /// A live event, if it is to be told.
    async fn live_event(&mut self, event: Arc<RunEvent>) -> Result<Option<ThreadEvent>, ThreadError> {
        if self.known == Known::Unclear {
            self.known = match self.past.position {
                Some(last) if self.past.run == Some(event.run) && last.index > 0 => Known::Everything,
                Some(last) if self.past.run == Some(event.run) => Known::UpTo(last.checkpoint),
                _ => Known::Nothing,
            };
        }
        if self.known == Known::Mended {
            // The last checkpoint of a run tells its end, too.
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

    /// Reads what was missed, up to a checkpoint that the run has saved.
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
            // It is older than what was told.
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
