//! The levels of reading the past: one for each graph or subgraph.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::vec::Vec;

use super::position::EventPosition;
use super::rebuild::Rebuild;
use super::records::{Records, Span};
use super::told::{Below, Group, Runs, Told, Unfinished};
use crate::checkpoint::{At, Checkpointer, CheckpointerExt, StepRecord};
use crate::graph::Program;
use crate::id::{CheckpointId, RunId};
use crate::run::runtime::event::{EventKind, PathSegment};
use crate::run::runtime::field_map::state_of;
use crate::run::runtime::redact;
use crate::run::runtime::stream::view::Views;
use crate::run::runtime::thread_error::ThreadError;

/// The reader of one graph or subgraph in the past.
pub(super) struct Level {
    pub(super) records: Records,
    program: Arc<Program>,
    pub(super) path: Vec<PathSegment>,
    /// The runs whose events are returned: those in all of these sets.
    pub(super) runs: Vec<Runs>,
    pub(super) after: Option<EventPosition>,
    pub(super) unfinished: Unfinished,
    /// `true` once unfinished work has been looked up.
    pub(super) is_over: bool,
    /// The run that wrote the latest checkpoint read.
    pub(super) run: Option<RunId>,
    /// The events still to be returned, each with its position if it has one.
    told: VecDeque<(Option<EventPosition>, Told)>,
}

impl Level {
    pub(super) fn new(records: Records, program: Arc<Program>, unfinished: Unfinished) -> Self {
        let (path, runs, told) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { records, program, path, runs, after: None, unfinished, is_over: false, run: None, told }
    }

    pub(super) fn below(saver: &Arc<dyn Checkpointer>, below: Below, above: &Self) -> Self {
        let Below { program, thread, task, runs, unfinished } = below;
        let graph = program.topology.name().clone();
        let span = Span { graph, thread, to: At::Head, from: None, own: true };
        let mut path = above.path.clone();
        path.push(task);
        let mut all = above.runs.clone();
        all.push(runs);
        let level = Self::new(Records::new(Arc::clone(saver), span), program, unfinished);
        Self { path, runs: all, ..level }
    }

    /// Returns the next event or subgraph to report, and its position if it has one.
    pub(super) async fn next(
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
                None if std::mem::replace(&mut self.is_over, true) => return Ok(None),
                None if self.unfinished == Unfinished::Nothing => return Ok(None),
                None => {
                    let unfinished = self.unfinished(saver, rebuild).await?;
                    self.told = unfinished.into_iter().map(|told| (None, told)).collect();
                }
            }
        }
    }

    /// Rebuilds the events of the unfinished work on top of the last checkpoint read. If the thread has moved on, only
    /// the pause of that checkpoint's run is rebuilt, and only for [`Unfinished::Before`]: the events of the run that
    /// moved the thread come from its feed.
    async fn unfinished(
        &self,
        saver: &Arc<dyn Checkpointer>,
        rebuild: Rebuild<'_>,
    ) -> Result<Vec<Told>, ThreadError> {
        let Some(last) = &self.records.base else { return Ok(Vec::new()) };
        let (thread, last) = (self.records.thread(), last.checkpoint.id);
        let Some(head) = saver.steps(thread, At::Head, 1).await?.pop() else { return Ok(Vec::new()) };
        if head.checkpoint.id == last {
            let begun = self.begun(saver, rebuild, &head).await?;
            return Ok(rebuild.unfinished(thread, &head, &begun, self.unfinished));
        }
        let mut told = Vec::new();
        if let Unfinished::Before(_) = self.unfinished
            && let Some(last) = saver.steps(thread, At::Id(last), 1).await?.pop()
        {
            rebuild.pause(&last, thread, &mut told);
        }
        Ok(told)
    }

    /// Finds the tasks on top of a head that only their subgraphs' threads show to have begun.
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

    /// Returns the state at a checkpoint.
    pub(super) async fn values(
        &self,
        saver: &Arc<dyn Checkpointer>,
        at: CheckpointId,
    ) -> Result<EventKind, ThreadError> {
        let loaded = saver.read(self.records.thread(), At::Id(at)).await?;
        let loaded = loaded.ok_or_else(|| ThreadError::NeverRan(self.records.thread().clone()))?;
        let (state, _) = state_of(&self.program, &loaded)?;
        let values = redact::state(&*state, &self.program.schema);
        Ok(EventKind::Values { step: loaded.checkpoint.step, values })
    }
}

/// Assigns positions to the events of a checkpoint, and drops those up to the position `after`. Events that are
/// only built for a view, and those of subgraphs, have no positions of their own.
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
