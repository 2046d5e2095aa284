//! The snapshots around the calls of a visit of `tools`.

use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_core::checkpoint::{EffectOutcome, Loaded};
use superstep_core::error::NodeError;
use superstep_core::node::{Effects, Emit, Task};
use superstep_nodes::message::ToolCall;

use crate::config::AssistantConfig;
use crate::permission::FileChange;
use crate::snapshot::{Change, NotCovered, SnapshotError, SnapshotId, Snapshots};
use crate::state::{AssistantState, AssistantStateUpdate};

/// Takes the snapshots around the calls of a visit of `tools`, as effects.
pub(super) struct Coverage {
    snapshots: Option<Snapshots>,
    effects: Effects,
    emit: Emit,
}

/// A snapshot, as the journal has it.
#[derive(Serialize, Deserialize)]
struct Recorded {
    id: SnapshotId,
    change: Option<Change>,
    not_covered: Vec<NotCovered>,
}

/// The name of the effects, and of the event that lists what is not covered.
const SNAPSHOT: &str = "snapshot";

/// The key of the snapshot before the calls.
const BEFORE: &str = "before";

/// The maximum number of files in the list of those that are not covered.
const MOST_LISTED: usize = 100;

impl Coverage {
    pub(super) fn of<C>(config: &AssistantConfig, task: &Task<AssistantState, C>) -> Self {
        Self { snapshots: config.snapshots.clone(), effects: task.extract(), emit: task.extract() }
    }

    /// Takes the snapshot before these calls, which may change files; `None` if there are no calls or no snapshots.
    pub(super) async fn begin(
        &self,
        state: &AssistantState,
        calls: &[&ToolCall],
    ) -> Result<Option<SnapshotId>, NodeError> {
        let Some(snapshots) = self.snapshots.as_ref().filter(|_| !calls.is_empty()) else { return Ok(None) };
        let changes = calls.iter().filter_map(|call| FileChange::of(call, None));
        let names = changes.map(|change| snapshots.relative(&change.path)).collect();
        let taken = self.take(snapshots, BEFORE, state.snapshot, names).await?;
        Ok(Some(taken.id))
    }

    /// Takes the snapshot after the calls, and adds both to the state.
    pub(super) async fn end(
        &self,
        state: &AssistantState,
        before: Option<SnapshotId>,
        update: AssistantStateUpdate,
    ) -> Result<AssistantStateUpdate, NodeError> {
        let Some((snapshots, before)) = self.snapshots.as_ref().zip(before) else { return Ok(update) };
        let Recorded { id, change, mut not_covered } =
            self.take(snapshots, "after", Some(before), Vec::new()).await?;
        let update = update.set_snapshot(Some(id)).changes(Vec::from_iter(change));
        not_covered.truncate(MOST_LISTED);
        if not_covered.iter().all(|path| state.not_covered.contains(path)) {
            return Ok(update);
        }
        self.emit.emit(SNAPSHOT, &json!({ "not_covered": not_covered }));
        Ok(update.set_not_covered(not_covered))
    }

    async fn take(
        &self,
        snapshots: &Snapshots,
        key: &str,
        before: Option<SnapshotId>,
        names: Vec<String>,
    ) -> Result<Recorded, NodeError> {
        let take = |_| async move {
            let taken = match snapshots.take(before, names.clone()).await {
                // It was deleted, or is in another store: the session begins a new line of snapshots.
                Err(SnapshotError::Unknown(_)) => snapshots.take(None, names).await,
                taken => taken,
            }?;
            let change = taken.change();
            Ok::<_, SnapshotError>(Recorded { id: taken.id, change, not_covered: taken.not_covered })
        };
        // A snapshot that was cut off is taken again: there is nothing that it could do twice.
        let taken = self.effects.effect(SNAPSHOT).key(key).idempotent().run(take).await;
        taken.map_err(NodeError::retryable)
    }
}

/// Returns the snapshot before the calls that are made at a checkpoint and have not all ended; `None` if there is none.
pub(crate) fn before_open_calls(at: &Loaded) -> Option<SnapshotId> {
    let taken = at.effects.iter().find(|effect| effect.id.name == SNAPSHOT && effect.id.key == BEFORE)?;
    let Some(EffectOutcome::Ok(taken)) = &taken.outcome else { return None };
    // A record of another version cannot be read, and the calls then count as those of another program.
    taken.decode::<Recorded>().ok().map(|taken| taken.id)
}

/// Returns the snapshots that calls at a checkpoint have taken, also those whose calls have not all ended.
pub(crate) fn taken_at(at: &Loaded) -> impl Iterator<Item = SnapshotId> {
    let taken = at.effects.iter().filter(|effect| effect.id.name == SNAPSHOT);
    taken.filter_map(|effect| match &effect.outcome {
        // As in `before_open_calls`, a record of another version names none that could be used.
        Some(EffectOutcome::Ok(taken)) => taken.decode::<Recorded>().ok().map(|taken| taken.id),
        _ => None,
    })
}
