//! Checkpoints as clients see them. A copy that a rollback made is shown as its original.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use superstep_core::checkpoint::{At, CheckpointerExt, Source, Summary};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::run::{
    AnyGraph, AnyState, CheckpointView, ConfigView, MetadataView, Past, SubgraphView, Thread, ThreadError,
};

use crate::wire::Failure;
use crate::wire::state::{self, Nested, Place};
use crate::work::{BRANCH_OF, BRANCH_TIP, original};

/// A checkpoint with its subgraphs.
pub(super) struct Shown {
    pub(super) view: CheckpointView,
    subgraphs: Vec<SubgraphView>,
}

/// Returns the latest checkpoint of a thread, with the results of finished tasks in its values; `None` if it has none,
/// or was rolled back to the time before the first.
pub(super) async fn head(graph: &AnyGraph, id: &ThreadId) -> Result<Option<Shown>, Failure> {
    let thread = graph.thread(id.clone());
    match thread.head().await {
        Ok(head) => {
            let mut shown = past(graph, &thread, &head).await?;
            match (&mut shown, head.unmerged_values()) {
                (Some(shown), Ok(values)) => shown.view.values.extend(values),
                // The next run has this error, too. Until then, the state is that before the superstep.
                (_, Err(ThreadError::Unmergeable(_))) | (None, Ok(_)) => {}
                (_, Err(error)) => return Err(error.into()),
            }
            Ok(shown)
        }
        Err(ThreadError::NeverRan(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns a checkpoint of a thread.
pub(super) async fn past(
    graph: &AnyGraph,
    thread: &Thread<AnyState>,
    past: &Past<AnyState>,
) -> Result<Option<Shown>, ThreadError> {
    let metadata = &past.loaded().checkpoint.metadata;
    let mut view = past.whole_view();
    match original(metadata) {
        None => {}
        Some(None) => return Ok(None),
        Some(Some(id)) => {
            // The work of the tasks is that of the copy, where runs continue.
            let tasks = std::mem::take(&mut view.tasks);
            view = CheckpointView { tasks, ..thread.at(id).await?.whole_view() };
        }
    }
    thread.add_empty_values(&mut view);
    view.metadata.user.remove(BRANCH_TIP);
    if let Some(Value::String(checkpoint_id)) = view.metadata.user.remove(BRANCH_OF) {
        view.parent_config = Some(ConfigView { checkpoint_id, ..view.config.clone() });
    }
    replace_parent(graph, thread.id(), &mut view).await?;
    let subgraphs = if view.tasks.is_empty() { Vec::new() } else { past.subgraphs().await? };
    Ok(Some(Shown { view, subgraphs }))
}

/// Replaces the parent of a checkpoint by its original, if a rollback made it.
async fn replace_parent(
    graph: &AnyGraph,
    thread: &ThreadId,
    view: &mut CheckpointView,
) -> Result<(), ThreadError> {
    let Some(parent) = &mut view.parent_config else { return Ok(()) };
    let Some((saver, id)) = graph.saver().zip(parent.checkpoint_id.parse::<CheckpointId>().ok()) else {
        return Ok(());
    };
    let summary = saver.history(thread, At::Id(id), 1).await?;
    match summary.first().and_then(|parent| original(&parent.metadata)) {
        None => {}
        Some(Some(original)) => parent.checkpoint_id = original.to_string(),
        Some(None) => view.parent_config = None,
    }
    Ok(())
}

impl Shown {
    /// Returns the state as JSON. `has_states` includes the states of subgraphs.
    pub(super) fn state(&self, has_states: bool) -> Value {
        let place = Place::default();
        let nested = nested(&self.view, &place, &self.subgraphs, 1, has_states);
        state::state(&self.view, &place, &nested)
    }
}

/// Returns the subgraphs of a state's next tasks, by task.
fn nested(
    view: &CheckpointView,
    place: &Place,
    all: &[SubgraphView],
    depth: usize,
    has_states: bool,
) -> BTreeMap<String, Nested> {
    let mut found = BTreeMap::new();
    for task in &view.tasks {
        let is_own = |sub: &&SubgraphView| sub.path.len() == depth && sub.task.to_string() == task.id;
        let Some(sub) = all.iter().find(is_own) else { continue };
        let below = place.below(view, task);
        let deeper: Vec<SubgraphView> =
            all.iter().filter(|other| other.thread.is_on_or_below(&sub.thread)).cloned().collect();
        let state = has_states.then(|| {
            let inner = nested(&sub.view, &below, &deeper, depth + 1, true);
            state::state(&sub.view, &below, &inner)
        });
        // The questions of a subgraph are among those of the task that runs it.
        found.insert(task.id.clone(), Nested { state, interrupts: Vec::new() });
    }
    found
}

/// The supersteps that followed the checkpoints of a walk back.
#[derive(Default)]
pub(super) struct Successors {
    /// The checkpoints that supersteps stored, by the checkpoint before.
    next: HashMap<CheckpointId, CheckpointId>,
    /// The last checkpoint that was read.
    last: Option<(String, MetadataView)>,
}

impl Successors {
    /// Follows the walk to a checkpoint. A copy that a rollback made stands for its original.
    pub(super) fn note(&mut self, summary: &Summary) {
        let stored = match original(&summary.metadata) {
            None if summary.source == Source::Loop => Some(summary.id),
            None => None,
            Some(original) => original,
        };
        if let (Some(parent), Some(stored)) = (summary.parent, stored) {
            self.next.insert(parent, stored);
        }
    }

    /// Returns the checkpoint that the superstep after this one stored.
    pub(super) fn of(&self, id: CheckpointId) -> Option<CheckpointId> {
        self.next.get(&id).copied()
    }

    /// Keeps a checkpoint that was read.
    pub(super) fn keep(&mut self, view: &CheckpointView) {
        self.last = Some((view.config.checkpoint_id.clone(), view.metadata.clone()));
    }

    /// Adds the results of the tasks of a checkpoint, if their superstep is over. Returns the checkpoint that has them,
    /// if it must be read first.
    pub(super) fn add_results(&self, id: CheckpointId, view: &mut CheckpointView) -> Option<CheckpointId> {
        let next = self.of(id)?;
        match &self.last {
            Some((last, metadata)) if *last == next.to_string() => {
                state::add_results(view, metadata);
                None
            }
            _ => Some(next),
        }
    }
}
