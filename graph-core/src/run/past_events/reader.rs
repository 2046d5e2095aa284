//! The events of a thread's past, one by one.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::vec::Vec;

use super::level::{Records, Span};
use super::position::EventPosition;
use super::rebuild::{Below, Group, Happened, Moment, Rebuild, Runs, Told};
use crate::checkpoint::{At, Checkpointer, StepRecord, StoreError};
use crate::graph::Program;
use crate::id::{CheckpointId, RunId, ThreadId};
use crate::run::begin::state_of;
use crate::run::error::ThreadError;
use crate::run::event::{EventKind, PathSegment, RunEvent};
use crate::run::graph::Runtime;
use crate::run::redact;
use crate::run::stream::{View, Views};

/// The events of a thread's past, oldest first, rebuilt from its checkpoints and read page by page. Made by
/// [`Thread::events`](crate::run::Thread::events) and [`Past::events`](crate::run::Past::events).
///
/// They are what a log of the runs that led here would say, as far as it is stored:
///
/// - Runs, supersteps, tasks and checkpoints have the ids, steps, positions and nodes that they had live. In a
///   superstep each task is told from its start to its end, in merge order.
/// - What nodes emitted is told where the run kept it:
///   [`Graph::record_events`](crate::run::Graph::record_events).
/// - On top of the latest checkpoint is told what is unfinished: results, failures, and questions that are open.
///   It is told again, as a part of its superstep, once that has come to a checkpoint.
/// - Subgraphs are told with their path, between start and end of their task.
///
/// What is not stored cannot be told:
///
/// - Attempts that were followed by another one, unless an error handler took over. The attempt of a task that
///   finished is 0 where it is not known, in paths as well.
/// - How a run ended that neither finished, nor asked, nor left its failure on the latest checkpoint; and runs
///   that came to no checkpoint of their own. What they left belongs to the run before them.
/// - Breakpoints, and whether a result was recorded earlier or came from a cache.
///
/// Times are exact for checkpoints, for what nodes emitted, and for the start of runs, as far as ids tell time.
/// What else happened before a superstep ran has the time of the checkpoint that it stands on, and what finished in
/// it the time of the checkpoint that it came to. Edits and copies are told as the checkpoint that they made.
///
/// [`RunEvent::seq`] counts what is read, from 0. To go on later, keep a [`position`](PastEvent::position).
#[must_use = "events are read with `next`"]
pub struct PastEvents {
    saver: Arc<dyn Checkpointer>,
    program: Arc<Program>,
    span: Span,
    views: Views,
    after: Option<EventPosition>,
    /// The graph's own level, and those of the subgraphs that are being told; empty before the first event.
    levels: Vec<Level>,
    is_begun: bool,
    /// Whether what is unfinished is told as well.
    pub(super) is_open: bool,
    /// The place of the last event of the graph itself.
    pub(super) position: Option<EventPosition>,
    /// The run that wrote the checkpoint of that place.
    pub(super) run: Option<RunId>,
    seq: u64,
}

/// An event of the past, and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct PastEvent {
    /// Where to go on from after this event. An event of a subgraph has the place where its task began, and one of
    /// an unfinished superstep that of the checkpoint below: those are told again as a whole.
    pub position: EventPosition,
    /// The event.
    pub event: RunEvent,
}

impl PastEvents {
    fn new(saver: Arc<dyn Checkpointer>, program: Arc<Program>, span: Span) -> Self {
        let is_open = span.to == At::Head;
        Self {
            saver,
            program,
            span,
            views: View::Debug.into(),
            after: None,
            levels: Vec::new(),
            is_begun: false,
            is_open,
            position: None,
            run: None,
            seq: 0,
        }
    }

    /// Leaves out what came up to this place, which is one that was read earlier, in this process or in another.
    /// Only what comes after it is read from the store.
    ///
    /// The first [`next`](Self::next) then fails where the thread's past has no such checkpoint.
    pub fn after(self, position: impl Into<EventPosition>) -> Self {
        Self { after: Some(position.into()), ..self }
    }

    /// Shows only the events of these views; without, all of them. [`View::Updates`] and [`View::Values`] are told
    /// only where they are among the views. Values cost a look at the whole state of every checkpoint.
    pub fn view(self, views: impl Into<Views>) -> Self {
        Self { views: views.into(), ..self }
    }

    /// The next event; `None` after the last.
    ///
    /// # Errors
    /// When the thread belongs to another graph, its past has no such position, or the store fails.
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

    /// All that is left.
    ///
    /// # Errors
    /// Those of [`next`](Self::next).
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
            let top = Level::new(records, Arc::clone(&self.program), self.is_open);
            self.levels.push(Level { after: self.after, ..top });
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

    /// Finds the checkpoints that are to be told.
    pub(super) async fn plan(&mut self) -> Result<(), StoreError> {
        self.begin();
        match self.levels.first_mut() {
            Some(top) => top.records.plan_once().await,
            None => Ok(()),
        }
    }

    /// The same thread after another place and up to another checkpoint.
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
    /// The events of a thread up to one of its checkpoints.
    pub(in crate::run) fn past_events(&self, thread: &ThreadId, to: At) -> Result<PastEvents, ThreadError> {
        let saver = self.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        let graph = self.program.topology.name().clone();
        let span = Span { graph, thread: thread.clone(), to, from: None, own: false };
        Ok(PastEvents::new(Arc::clone(saver), Arc::clone(&self.program), span))
    }
}

/// One graph or subgraph on the way through the past.
struct Level {
    records: Records,
    program: Arc<Program>,
    path: Vec<PathSegment>,
    /// Of which runs it is told: of those that all of these have.
    runs: Vec<Runs>,
    after: Option<EventPosition>,
    is_open: bool,
    /// Who wrote the checkpoint that is told.
    run: Option<RunId>,
    /// What is still to be told, with its place where it has one.
    told: VecDeque<(Option<EventPosition>, Told)>,
}

impl Level {
    fn new(records: Records, program: Arc<Program>, is_open: bool) -> Self {
        let (path, runs, told) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { records, program, path, runs, after: None, is_open, run: None, told }
    }

    fn below(saver: &Arc<dyn Checkpointer>, below: Below, above: &Self) -> Self {
        let Below { program, thread, task, runs, is_open } = below;
        let graph = program.topology.name().clone();
        let span = Span { graph, thread, to: At::Head, from: None, own: true };
        let mut path = above.path.clone();
        path.push(task);
        let mut all = above.runs.clone();
        all.push(runs);
        let level = Self::new(Records::new(Arc::clone(saver), span), program, is_open);
        Self { path, runs: all, ..level }
    }

    async fn next(
        &mut self,
        saver: &Arc<dyn Checkpointer>,
        wanted: Views,
    ) -> Result<Option<(Option<EventPosition>, Told)>, ThreadError> {
        loop {
            if let Some(told) = self.told.pop_front() {
                return Ok(Some(told));
            }
            let rebuild = Rebuild { program: &self.program, wanted };
            match self.records.next().await? {
                Some(record) => {
                    let group = rebuild.checkpoint(self.records.base.as_ref(), &record);
                    let after = self.after.filter(|after| after.checkpoint == record.checkpoint.id);
                    self.told = placed(group, record.checkpoint.id, after.map(|after| after.index));
                    self.run = Some(record.checkpoint.run);
                    self.records.base = Some(record);
                }
                None if std::mem::take(&mut self.is_open) => {
                    let Some(head) = self.head(saver).await? else { return Ok(None) };
                    let begun = self.begun(saver, rebuild, &head).await?;
                    let unfinished = rebuild.unfinished(self.records.thread(), &head, &begun);
                    self.told = unfinished.into_iter().map(|told| (None, told)).collect();
                }
                None => return Ok(None),
            }
        }
    }

    /// The thread's head as it is now, if it is what was told last: what is unfinished elsewhere does not follow
    /// from that.
    async fn head(&self, saver: &Arc<dyn Checkpointer>) -> Result<Option<StepRecord>, ThreadError> {
        let Some(last) = &self.records.base else { return Ok(None) };
        let head = saver.steps(self.records.thread(), At::Head, 1).await?.pop();
        Ok(head.filter(|head| head.checkpoint.id == last.checkpoint.id))
    }

    /// The tasks on top of a head of which only their subgraphs' threads tell that they have begun.
    async fn begun(
        &self,
        saver: &Arc<dyn Checkpointer>,
        rebuild: Rebuild<'_>,
        head: &StepRecord,
    ) -> Result<BTreeSet<u32>, ThreadError> {
        let mut begun = BTreeSet::new();
        for (task, thread) in rebuild.silent_subgraphs(self.records.thread(), head) {
            let written = saver.steps(&thread, At::Head, 1).await?;
            if written.iter().any(|head| head.thread == thread) {
                begun.insert(task);
            }
        }
        Ok(begun)
    }

    async fn values(
        &self,
        saver: &Arc<dyn Checkpointer>,
        at: CheckpointId,
    ) -> Result<EventKind, ThreadError> {
        let loaded = saver.load(self.records.thread(), At::Id(at)).await?;
        let loaded = loaded.ok_or_else(|| ThreadError::NeverRan(self.records.thread().clone()))?;
        let (state, _) = state_of(&self.program, &loaded)?;
        let values = redact::state(&*state, &self.program.schema);
        Ok(EventKind::Values { step: loaded.checkpoint.step, values })
    }
}

/// Gives what a checkpoint tells its places, and leaves out what comes up to the place `after`. What is told only
/// where it is wanted, and what happened below, has none of its own.
fn placed(
    group: Group,
    checkpoint: CheckpointId,
    after: Option<i64>,
) -> VecDeque<(Option<EventPosition>, Told)> {
    let has_place = |told: &Told| match told {
        Told::Event(happened) => !matches!(happened.kind, EventKind::Update { .. }),
        Told::Values { .. } | Told::Below(_) => false,
    };
    let places = group.before.iter().filter(|told| has_place(told)).count();
    let first = -i64::try_from(places).expect("a superstep has fewer tasks");
    let mut index = first - 1;
    let all = group.before.into_iter().chain(group.rest).filter_map(|told| {
        if has_place(&told) {
            index += 1;
            let is_new = after.is_none_or(|after| index > after);
            return is_new.then_some((Some(EventPosition { checkpoint, index }), told));
        }
        after.is_none_or(|after| index >= after).then_some((None, told))
    });
    all.collect()
}

impl fmt::Debug for PastEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PastEvents")
            .field("thread", &self.span.thread)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
