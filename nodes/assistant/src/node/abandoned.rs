//! The work of agents that a message of the user has ended.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use superstep_core::checkpoint::{
    At, Checkpoint, Checkpointer, CheckpointerExt, EffectRecord, Loaded, Source, StoreError,
};
use superstep_core::error::NodeError;
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::node::{Effects, OnUnknown, TaskInfo};
use superstep_core::state::{FieldId, State};
use superstep_nodes::__private::open_calls;
use superstep_nodes::model::Ledger;

use crate::agents::{AGENT, AgentTool};
use crate::snapshot::{Change, SnapshotId};
use crate::state::{AssistantState, AssistantStateUpdate};

/// The work of agents that have not ended, such as one whose question the user did not answer. The message that ended
/// them discards their results, but what they spent is spent, and the files that they changed are changed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Abandoned {
    /// The model calls of each agent.
    ledgers: Vec<Ledger>,
    /// The changes of files, with those of the session before.
    changes: Vec<Change>,
    snapshot: Option<SnapshotId>,
}

impl Abandoned {
    /// Reads the work of the agents that the new message of the user has ended, as an effect.
    pub(super) async fn read(
        state: &AssistantState,
        effects: &Effects,
        info: &TaskInfo,
    ) -> Result<Self, NodeError> {
        let mut open = open_calls(&state.messages).into_iter();
        let is_new = state.new_request().is_some() && open.any(|(_, call)| call.name == AgentTool::NAME);
        let Some((saver, base)) = info.checkpointer().zip(info.checkpoint()).filter(|_| is_new) else {
            return Ok(Self::default());
        };
        let read = || async {
            let mut found = Self::default();
            if let Some(loaded) = discarded(saver, info.thread(), base).await? {
                found.add_below(saver, info.thread(), &loaded).await?;
            }
            Ok::<_, StoreError>(found)
        };
        effects.on_unknown(OnUnknown::Retry).run("abandoned", read).await.map_err(NodeError::retryable)
    }

    /// Adds the work to that of the session.
    pub(super) fn add_to(
        self,
        state: &AssistantState,
        mut update: AssistantStateUpdate,
    ) -> AssistantStateUpdate {
        let mut known: HashSet<Change> = state.changes.iter().copied().collect();
        let new: Vec<_> = self.changes.into_iter().filter(|change| known.insert(*change)).collect();
        if !new.is_empty() {
            update = update.changes(new).set_snapshot(self.snapshot);
        }
        self.ledgers.into_iter().fold(update, |update, ledger| update.ledger(ledger))
    }

    /// Adds the work of the agents that run below a checkpoint, and of theirs.
    fn add_below<'a>(
        &'a mut self,
        saver: &'a Arc<dyn Checkpointer>,
        thread: &'a ThreadId,
        at: &'a Loaded,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let checkpoint = &at.checkpoint;
            for next in checkpoint.frontier.tasks.iter().filter(|next| next.node.as_str().starts_with(AGENT))
            {
                let task = next.id(checkpoint.id, checkpoint.step);
                let mut journal = at.effects.iter().filter(|effect| effect.id.task == task);
                let below = journal.find_map(EffectRecord::subgraph).unwrap_or_else(|| thread.below(task));
                let Some(agent) = saver.read(&below, At::Head).await? else { continue };
                self.ledgers.push(value(&agent, AssistantState::LEDGER.id()));
                self.changes.extend(value::<Vec<Change>>(&agent, AssistantState::CHANGES.id()));
                self.snapshot =
                    value::<Option<SnapshotId>>(&agent, AssistantState::SNAPSHOT.id()).or(self.snapshot);
                self.add_below(saver, &below, &agent).await?;
            }
            Ok(())
        }
        .boxed()
    }
}

/// Returns the checkpoint on which a message was put: the last one before `base` that a node has led to.
async fn discarded(
    saver: &Arc<dyn Checkpointer>,
    thread: &ThreadId,
    base: CheckpointId,
) -> Result<Option<Loaded>, StoreError> {
    let is_of_input = |it: &Checkpoint| {
        it.source == Source::Input
            || it.source == Source::Loop && it.tasks.iter().all(|task| task.node.is_start())
    };
    let mut next = Some(base);
    while let Some(at) = next {
        let Some(loaded) = saver.read(thread, At::Id(at)).await? else { return Ok(None) };
        if !is_of_input(&loaded.checkpoint) {
            return Ok(Some(loaded));
        }
        next = loaded.checkpoint.parent;
    }
    Ok(None)
}

/// Returns the value of a field. One that is not there, or is that of another version of the state, counts as empty: no
/// message of a user is to fail for it.
fn value<T: DeserializeOwned + Default>(at: &Loaded, field: FieldId) -> T {
    let stored = at.schema.find(&AssistantState::schema().field(field).name);
    let value = at.values.iter().find(|value| Some(value.field) == stored);
    value.and_then(|value| value.value.decode().ok()).unwrap_or_default()
}
