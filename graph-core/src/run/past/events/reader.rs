//! The reader of a thread's past events.

use std::fmt;
use std::sync::Arc;
use std::vec::Vec;

use super::level::Level;
use super::position::EventPosition;
use super::records::{Records, Span};
use super::told::{Happened, Moment, Told, Unfinished};
use crate::checkpoint::{At, Checkpointer, StoreError};
use crate::graph::Program;
use crate::id::{RunId, ThreadId};
use crate::run::runtime::event::{EventKind, PathSegment, RunEvent};
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::stream::view::{View, Views};
use crate::run::runtime::thread_error::ThreadError;

/// The events of a thread's past, oldest first, rebuilt from its checkpoints and read page by page. Created by
/// [`Thread::events`](crate::run::Thread::events) and [`Past::events`](crate::run::Past::events).
///
/// They are the log of the past runs, as far as it is stored:
///
/// - Runs, supersteps, tasks and checkpoints have the same ids, steps, positions and nodes as in the live log.
///   Within a superstep, the events of each task come together, from its start to its end, in merge order.
/// - Emitted events are included if the run kept them: [`Graph::record_events`](crate::run::Graph::record_events).
/// - The events of the latest checkpoint are followed by those of unfinished work: results, failures, and open
///   questions. These are returned again, as a part of their superstep, once its checkpoint is stored. The remains
///   of a superstep that an input discarded come before the run of that input.
/// - Events of subgraphs have a path, and come between the start and the end of their task.
///
/// Events that are not stored are left out:
///
/// - Attempts that were followed by another one, unless that was the error handler's. The attempt number of a
///   finished task is 0 if it is unknown, in paths as well.
/// - The end of a run that neither finished, nor asked, nor left a failure on the latest checkpoint; and runs
///   without a checkpoint of their own. Their unfinished work belongs to the run before them.
/// - Breakpoints, and whether a result was recorded earlier or came from a cache.
///
/// Times are exact for checkpoints, for emitted events, and for the start of runs, within the resolution of ids.
/// Other events before a superstep ran have the time of its base checkpoint, and those of its finished tasks have
/// the time of its own checkpoint. Edits and copies appear as the checkpoint that they created.
///
/// [`RunEvent::seq`] counts the events read, from 0. To continue later, keep a [`position`](PastEvent::position).
#[must_use = "events are read with `next`"]
pub struct PastEvents {
    saver: Arc<dyn Checkpointer>,
    program: Arc<Program>,
    span: Span,
    views: Views,
    after: Option<EventPosition>,
    /// The level of the graph, and those of the subgraphs being read; empty before the first event.
    levels: Vec<Level>,
    is_begun: bool,
    /// The part of the unfinished work that is rebuilt.
    pub(super) unfinished: Unfinished,
    /// The position of the last event of the graph itself.
    pub(super) position: Option<EventPosition>,
    /// The run that wrote the checkpoint of that position.
    pub(super) run: Option<RunId>,
    seq: u64,
}

/// An event of the past, and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct PastEvent {
    /// The position from which to continue after this event. Events of a subgraph have the position of the start of
    /// its task, and events of an unfinished superstep have that of its base checkpoint, because both are always
    /// returned as a whole.
    pub position: EventPosition,
    /// The event.
    pub event: RunEvent,
}

impl PastEvents {
    fn new(saver: Arc<dyn Checkpointer>, program: Arc<Program>, span: Span) -> Self {
        let unfinished = if span.to == At::Head { Unfinished::All } else { Unfinished::Nothing };
        Self {
            saver,
            program,
            span,
            views: View::Debug.into(),
            after: None,
            levels: Vec::new(),
            is_begun: false,
            unfinished,
            position: None,
            run: None,
            seq: 0,
        }
    }

    /// Skips the events up to this position, which may come from an earlier reader in this process or in another
    /// one. Only later steps are read from the store.
    ///
    /// The first [`next`](Self::next) then fails if the thread's past has no such checkpoint.
    pub fn after(self, position: impl Into<EventPosition>) -> Self {
        Self { after: Some(position.into()), ..self }
    }

    /// Selects the events of these views; by default, all events. [`View::Updates`] and [`View::Values`] are only
    /// built if they are among the views. Values require reading the whole state of every checkpoint.
    pub fn view(self, views: impl Into<Views>) -> Self {
        Self { views: views.into(), ..self }
    }

    /// Returns the next event; `None` after the last one.
    ///
    /// # Errors
    /// Returns an error if the thread belongs to another graph, its past has no such position, or the store fails.
    pub async fn next(&mut self) -> Result<Option<PastEvent>, ThreadError> {
        self.begin();
        loop {
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let next = level.next(&self.saver, self.views).await?;
            if level.path.is_empty() {
                self.run = level.run;
            }
            let Some((index, told)) = next else {
                self.levels.pop();
                continue;
            };
            let (moment, kind) = match told {
                Told::Event(Happened { moment, kind }) => (moment, kind),
                Told::Values { at, happened } => (happened, level.values(&self.saver, at).await?),
                Told::Below(below) => {
                    let below = Level::below(&self.saver, below, level);
                    self.levels.push(below);
                    continue;
                }
            };
            if !level.runs.iter().all(|runs| runs.has(moment.run)) {
                continue;
            }
            let path = level.path.clone();
            if path.is_empty() {
                self.position = index.or(self.position);
            }
            if let Some(event) = self.event(moment, path, kind) {
                return Ok(Some(event));
            }
        }
    }

    /// Returns all remaining events.
    ///
    /// # Errors
    /// Returns the errors of [`next`](Self::next).
    pub async fn collect(mut self) -> Result<Vec<PastEvent>, ThreadError> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await? {
            all.push(event);
        }
        Ok(all)
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.is_begun, true) {
            let from = self.after.map(|after| after.checkpoint);
            let records = Records::new(Arc::clone(&self.saver), Span { from, ..self.span.clone() });
            let mut top = Level::new(records, Arc::clone(&self.program), self.unfinished);
            top.after = self.after;
            self.levels.push(top);
            self.position = self.after;
        }
    }

    fn event(&mut self, moment: Moment, path: Vec<PathSegment>, kind: EventKind) -> Option<PastEvent> {
        let Moment { run, at_ms } = moment;
        let event = RunEvent { seq: self.seq, at_ms, run, path, kind };
        self.seq += 1;
        let position = self.position.expect("what comes first is an event of the graph itself");
        self.views.shows(&event.kind).then_some(PastEvent { position, event })
    }

    /// Finds the checkpoints to read.
    pub(super) async fn plan(&mut self) -> Result<(), StoreError> {
        self.begin();
        match self.levels.first_mut() {
            Some(top) => top.records.plan_once().await,
            None => Ok(()),
        }
    }

    /// Sets the part of the unfinished work that is rebuilt, before any of it is returned.
    pub(super) fn tell_unfinished(&mut self, what: Unfinished) {
        self.unfinished = what;
        if let Some(top) = self.levels.first_mut().filter(|top| !top.is_over) {
            top.unfinished = what;
        }
    }

    /// Creates a reader of the same thread, after another position and up to another checkpoint.
    pub(super) fn again(&self, after: Option<EventPosition>, to: At) -> Self {
        let span = Span { to, ..self.span.clone() };
        let again = Self::new(Arc::clone(&self.saver), Arc::clone(&self.program), span);
        Self { views: self.views, after, ..again }
    }

    pub(super) fn views(&self) -> Views {
        self.views
    }
}

impl Runtime {
    /// Returns the events of a thread up to one of its checkpoints.
    pub(in crate::run) fn past_events(&self, thread: &ThreadId, to: At) -> Result<PastEvents, ThreadError> {
        let saver = self.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let graph = self.program.topology.name().clone();
        let span = Span { graph, thread: thread.clone(), to, from: None, own: false };
        Ok(PastEvents::new(Arc::clone(saver), Arc::clone(&self.program), span))
    }
}

impl fmt::Debug for PastEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PastEvents")
            .field("thread", &self.span.thread)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
