//! The walk of a replay: along a branch, superstep by superstep, and into the subgraphs that ran.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use alloc::string::ToString;

use futures_util::future::BoxFuture;

use super::compare;
use super::report::{Difference, Divergence, Replay, Unverified, WhyUnverified};
use super::superstep::{Findings, Superstep};
use crate::checkpoint::{At, Checkpoint, Checkpointer, CheckpointerExt, Loaded, Source, StoreError, Summary};
use crate::id::{CheckpointId, NodeName, RunId, ThreadId};
use crate::run::driver::recording::Below;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::{CodecError, Json, LoggedWrite};

/// The number of history entries read at a time.
const PAGE: usize = 256;

/// A replay under way.
pub(super) struct Walk {
    saver: Arc<dyn Checkpointer>,
    pub(super) replay: Replay,
}

/// The part of a branch that is replayed.
pub(super) enum Way {
    /// From the thread's first checkpoint.
    Whole,
    /// The supersteps after this checkpoint.
    After(CheckpointId),
    /// The last turn of a subgraph, with this input.
    Turn(Vec<LoggedWrite>),
}

/// A checkpoint of the branch.
struct Line {
    id: CheckpointId,
    parent: Option<CheckpointId>,
    /// The thread on which it was written.
    thread: ThreadId,
    run: RunId,
    source: Source,
    starts: bool,
}

impl From<Summary> for Line {
    fn from(summary: Summary) -> Self {
        let Summary { id, parent, thread, run, source, ran, .. } = summary;
        Self { id, parent, thread, run, source, starts: ran.iter().any(NodeName::is_start) }
    }
}

impl Walk {
    pub(super) fn new(saver: Arc<dyn Checkpointer>) -> Self {
        Self { saver, replay: Replay::default() }
    }

    /// Replays the branch of `thread` that ends at `to`, inside the subgraphs of the nodes `path`.
    pub(super) fn along<'w>(
        &'w mut self,
        runtime: &'w Runtime,
        thread: &'w ThreadId,
        to: CheckpointId,
        way: Way,
        path: &'w [NodeName],
    ) -> BoxFuture<'w, Result<(), ThreadError>> {
        Box::pin(async move {
            let lines = self.lines(thread, to, &way).await?;
            let mut before: Option<Loaded> = None;
            let mut taken = 0;
            for (position, line) in lines.iter().enumerate() {
                let last = position.checked_sub(1).map(|last| &lines[last]);
                let loaded = self.saver.read(thread, At::Id(line.id)).await?;
                let loaded = loaded.ok_or_else(|| gone(thread, line.id))?;
                if last.is_none_or(|last| last.run != line.run) {
                    taken = 0;
                }
                match (&way, &before) {
                    (Way::Turn(entry), None) => {
                        let place = Place { line, loaded: &loaded, path };
                        self.entered(runtime, &place, entry)?;
                    }
                    (_, Some(before))
                        if line.source == Source::Loop && before.checkpoint.source == Source::Pruned =>
                    {
                        for task in 0..loaded.checkpoint.tasks.len() {
                            self.take(
                                &Place { line, loaded: &loaded, path },
                                task as u32,
                                WhyUnverified::Pruned,
                            );
                        }
                    }
                    (_, Some(before))
                        if line.source == Source::Loop && line.parent == Some(before.checkpoint.id) =>
                    {
                        taken += u64::from(!line.starts);
                        // The run's limit is not recorded, so its remaining supersteps are computed from the
                        // graph's limit.
                        let remaining = runtime.limits.recursion.saturating_sub(taken).saturating_add(1);
                        let superstep = Superstep {
                            runtime,
                            saver: &Arc::clone(&self.saver),
                            thread: &line.thread,
                            before,
                            recorded: &loaded.checkpoint,
                            remaining,
                        };
                        self.verify(superstep, &Place { line, loaded: &loaded, path }).await?;
                    }
                    _ => {}
                }
                before = Some(loaded);
            }
            Ok(())
        })
    }

    /// Returns the checkpoints of the branch, oldest first, including the one at which it begins.
    async fn lines(&self, thread: &ThreadId, to: CheckpointId, way: &Way) -> Result<Vec<Line>, StoreError> {
        let mut lines: Vec<Line> = Vec::new();
        let mut from = Some(to);
        'pages: while let Some(at) = from {
            let page = self.saver.history(thread, At::Id(at), PAGE).await?;
            from = page.last().and_then(|oldest| oldest.parent);
            for summary in page {
                let line = Line::from(summary);
                let begins = match way {
                    Way::Whole => false,
                    Way::After(checkpoint) => line.id == *checkpoint,
                    Way::Turn(_) => line.source == Source::Input,
                };
                lines.push(line);
                if begins {
                    break 'pages;
                }
            }
        }
        if let Way::After(checkpoint) = way
            && lines.last().is_none_or(|oldest| oldest.id != *checkpoint)
        {
            let (thread, checkpoint) = (thread.clone(), checkpoint.to_string());
            return Err(StoreError::NoCheckpoint { thread, checkpoint });
        }
        lines.reverse();
        Ok(lines)
    }

    /// Compares the input that a subgraph gets now with the recorded one.
    fn entered(
        &mut self,
        runtime: &Runtime,
        place: &Place<'_>,
        entry: &[LoggedWrite],
    ) -> Result<(), ThreadError> {
        let checkpoint = &place.loaded.checkpoint;
        if checkpoint.source != Source::Input || checkpoint.schema != runtime.program.schema_fingerprint {
            return Ok(());
        }
        let mut replayed = checkpoint.clone();
        if let Some(start) = replayed.frontier.tasks.iter_mut().find(|task| task.node.is_start()) {
            start.input = Some(Json::encode(entry).map_err(unencodable)?);
        }
        let found =
            compare::difference(checkpoint, &replayed, &runtime.program.schema).map_err(unencodable)?;
        if let Some((_, difference)) = found {
            self.replay.divergent += 1;
            self.diverged(place, None, difference);
        }
        Ok(())
    }

    async fn verify(&mut self, superstep: Superstep<'_>, place: &Place<'_>) -> Result<(), ThreadError> {
        let (program, recorded) = (&superstep.runtime.program, superstep.recorded);
        if recorded.schema != program.schema_fingerprint {
            self.replay.divergent += 1;
            self.diverged(place, None, Difference::Schema);
            return Ok(());
        }
        self.replay.other_topology |= recorded.topology != program.description.topology_fingerprint;
        let findings = superstep.verify().await.map_err(unencodable)?;
        let Findings { tasks, whole, unverified, below } = findings;
        for below in below {
            self.below(below, place.path).await?;
        }
        if tasks.is_empty() && whole.is_none() {
            self.replay.supersteps += 1;
        } else {
            self.replay.divergent += 1;
        }
        for (task, difference) in tasks {
            self.diverged(place, node(recorded, task), difference);
        }
        if let Some(difference) = whole {
            self.diverged(place, None, difference);
        }
        for (task, why) in unverified {
            self.take(place, task, why);
        }
        Ok(())
    }

    /// Records that the recorded outcome of a task is used.
    fn take(&mut self, place: &Place<'_>, task: u32, why: WhyUnverified) {
        let recorded = &place.loaded.checkpoint;
        self.replay.unverified.push(Unverified {
            thread: place.line.thread.clone(),
            checkpoint: recorded.id,
            step: recorded.step,
            node: node(recorded, task).unwrap_or_else(|| "?".into()),
            why,
        });
    }

    async fn below(&mut self, below: Below, path: &[NodeName]) -> Result<(), ThreadError> {
        let Below { node, runtime, thread, head, entry } = below;
        let mut path = path.to_vec();
        path.push(node);
        self.along(&runtime, &thread, head, Way::Turn(entry), &path).await
    }

    fn diverged(&mut self, place: &Place<'_>, node: Option<NodeName>, difference: Difference) {
        let Place { line, loaded, path } = place;
        self.replay.first.get_or_insert_with(|| {
            Box::new(Divergence {
                thread: line.thread.clone(),
                path: path.to_vec(),
                checkpoint: line.id,
                step: loaded.checkpoint.step,
                node,
                difference,
            })
        });
    }
}

/// A stored checkpoint of the branch.
struct Place<'a> {
    line: &'a Line,
    loaded: &'a Loaded,
    path: &'a [NodeName],
}

fn node(recorded: &Checkpoint, task: u32) -> Option<NodeName> {
    recorded.tasks.get(task as usize).map(|task| task.node.clone())
}

fn gone(thread: &ThreadId, checkpoint: CheckpointId) -> StoreError {
    StoreError::NoCheckpoint { thread: thread.clone(), checkpoint: checkpoint.to_string() }
}

fn unencodable(reason: CodecError) -> ThreadError {
    ThreadError::Encode { what: "a replayed checkpoint".into(), reason }
}
