//! The rollback of a run: its thread goes back to the checkpoint before it.
//!
//! The past is never deleted. The thread gets a copy of the checkpoint before the run as its latest one, whose metadata
//! names the run and the original; state and history show the original in its place. The checkpoints of the run are no
//! longer among those that it continues.

use std::collections::BTreeMap;

use serde_json::json;
use superstep_core::checkpoint::{At, CheckpointerExt, StoreError, Summary};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::records::{RunRow, ThreadStatus};
use superstep_core::run::{AnyGraph, AnyState, Past, Thread, ThreadError};
use superstep_core::state::Json;

use super::outcome::resting;
use super::plan::RUN_ID;

/// The entry in the metadata of a checkpoint that names the run that was rolled back.
pub(crate) const ROLLED_BACK: &str = "superstep.rolled_back";

/// The entry that names the original of the copy; missing if the thread had no checkpoint.
pub(crate) const ROLLED_BACK_TO: &str = "superstep.rolled_back_to";

/// The entry that names the checkpoint that a branch was made of.
pub(crate) const BRANCH_OF: &str = "superstep.branch_of";

/// The entry that names the head of the thread before a branch was made.
pub(crate) const BRANCH_TIP: &str = "superstep.branch_tip";

/// Begins a branch at a checkpoint. Clients see the copy as a continuation of its original, and the branch that ends at
/// `head` stays in the history.
pub(crate) async fn branched(
    past: &Past<AnyState>,
    head: CheckpointId,
    mut metadata: BTreeMap<String, Json>,
) -> Result<CheckpointId, ThreadError> {
    for (name, id) in [(BRANCH_OF, past.id()), (BRANCH_TIP, head)] {
        metadata.insert(name.to_owned(), Json::encode(&id.to_string()).expect("a text has a JSON form"));
    }
    past.branch_with(metadata).await
}

/// The thread before a run.
pub(super) struct Before {
    /// The latest checkpoint; `None` if the thread had none.
    head: Option<CheckpointId>,
    /// The same checkpoint with its work, if there was some.
    work: Option<Past<AnyState>>,
}

impl Before {
    /// Reads the thread before the first attempt of a run. `None` for a later attempt, which cannot know it.
    pub(super) async fn read(
        graph: &AnyGraph,
        thread: &Thread<AnyState>,
        run: &RunRow,
    ) -> Result<Option<Self>, ThreadError> {
        if run.attempt > 1 {
            return Ok(None);
        }
        let Some(head) = latest(graph, thread.id()).await? else {
            return Ok(Some(Self { head: None, work: None }));
        };
        let work = if head.next.is_empty() { None } else { Some(thread.at(head.id).await?) };
        Ok(Some(Self { head: Some(head.id), work }))
    }
}

/// Undoes what the attempts of a run have stored on its thread, and returns the status of the thread.
pub(super) async fn roll_back(
    graph: &AnyGraph,
    thread: &Thread<AnyState>,
    run: &RunRow,
    before: Option<Before>,
) -> Result<ThreadStatus, ThreadError> {
    let saver = graph.saver().ok_or(ThreadError::NoCheckpointer)?;
    let Some(head) = latest(graph, thread.id()).await? else { return Ok(ThreadStatus::Idle) };
    let before = match before {
        Some(before) => before,
        None => Before { head: found(&saver.lineage(thread.id()).await?, thread, run), work: None },
    };
    if before.head == Some(head.id) || is_rolled_back(&head, run) {
        return resting(thread).await;
    }
    let mut metadata = BTreeMap::from([(ROLLED_BACK.to_owned(), text(&run.id))]);
    match before.head {
        Some(id) => {
            // A copy of a copy names the original.
            let past = thread.at(id).await?;
            let original = past.loaded().checkpoint.metadata.get(ROLLED_BACK_TO).cloned();
            metadata.insert(ROLLED_BACK_TO.to_owned(), original.unwrap_or_else(|| text(&id.to_string())));
            before.work.as_ref().unwrap_or(&past).rewind(metadata).await?;
        }
        None => {
            let first = first(thread).await?.ok_or_else(|| ThreadError::NeverRan(thread.id().clone()))?;
            first.branch_without_tasks(metadata).await?;
        }
    }
    resting(thread).await
}

fn text(text: &str) -> Json {
    Json::encode(&json!(text)).expect("a text has a JSON form")
}

fn is_rolled_back(head: &Summary, run: &RunRow) -> bool {
    head.metadata.get(ROLLED_BACK).is_some_and(|id| *id == text(&run.id))
}

/// Returns the newest checkpoint of the thread that the run did not write.
fn found(lineage: &[Summary], thread: &Thread<AnyState>, run: &RunRow) -> Option<CheckpointId> {
    let of_run = text(&run.id);
    let mut own = lineage.iter().filter(|summary| summary.thread == *thread.id());
    own.find(|summary| summary.metadata.get(RUN_ID) != Some(&of_run)).map(|summary| summary.id)
}

/// Returns the first checkpoint of the thread.
async fn first(thread: &Thread<AnyState>) -> Result<Option<Past<AnyState>>, ThreadError> {
    let mut history = thread.history()?;
    let mut first = None;
    while let Some(summary) = history.next().await? {
        first = Some(summary.id);
    }
    match first {
        Some(first) => Ok(Some(thread.at(first).await?)),
        None => Ok(None),
    }
}

/// Returns the checkpoint that a copy which a rollback made stands for: `Some(None)` if the thread had none.
pub(crate) fn original(metadata: &BTreeMap<String, Json>) -> Option<Option<CheckpointId>> {
    metadata.get(ROLLED_BACK)?;
    let original = metadata.get(ROLLED_BACK_TO).and_then(|id| id.decode::<String>().ok());
    Some(original.and_then(|id| id.parse().ok()))
}

/// Returns the latest checkpoint of a thread, without its values.
pub(crate) async fn latest(graph: &AnyGraph, thread: &ThreadId) -> Result<Option<Summary>, StoreError> {
    match graph.saver() {
        Some(saver) => Ok(saver.history(thread, At::Head, 1).await?.into_iter().next()),
        None => Ok(None),
    }
}
