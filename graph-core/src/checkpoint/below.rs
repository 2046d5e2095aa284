//! The thread of a task's subgraph.
//!
//! Its name follows from the task. A task that an edit carries to another checkpoint has another id there and the
//! same subgraph, so an entry in its effect journal names the thread.

use alloc::string::String;

use super::{EffectId, EffectOutcome, EffectRecord};
use crate::id::{IdempotencyKey, TaskId, ThreadId};
use crate::state::Json;

/// The name of the entry. No effect of a program has this name.
const LINK: &str = "\u{1f}subgraph";

/// Returns the entry's id.
pub(crate) fn link(task: TaskId) -> EffectId {
    EffectId { task, name: LINK.into(), key: String::new(), occurrence: 0 }
}

/// Returns the entry that names `thread` as the thread of the subgraph of `task`.
pub(crate) fn linked(task: TaskId, thread: &ThreadId) -> EffectRecord {
    let name = Json::encode(thread).expect("a name has a JSON form");
    let token = IdempotencyKey::derive(thread, task, LINK, "", 0);
    EffectRecord { id: link(task), attempt: 1, starts: 1, token, outcome: Some(EffectOutcome::Ok(name)) }
}

/// Returns the thread of the subgraph of `task`. `thread` is the thread of the task, and `effects` contains the
/// task's journal.
pub(crate) fn thread(effects: &[EffectRecord], thread: &ThreadId, task: TaskId) -> ThreadId {
    let link = link(task);
    let linked = effects.iter().find(|effect| effect.id == link);
    linked.and_then(EffectRecord::subgraph).unwrap_or_else(|| thread.below(task))
}

impl EffectRecord {
    /// Returns the thread of its task's subgraph, if this is an entry that names it. Edits leave such entries.
    #[must_use]
    pub fn subgraph(&self) -> Option<ThreadId> {
        match &self.outcome {
            Some(EffectOutcome::Ok(name)) if self.id == link(self.id.task) => name.decode().ok(),
            _ => None,
        }
    }

    /// Returns the same entry for the same subgraph on a thread with another name.
    #[must_use]
    pub fn with_subgraph(self, thread: &ThreadId) -> Self {
        let name = Json::encode(thread).expect("a name has a JSON form");
        Self { outcome: Some(EffectOutcome::Ok(name)), ..self }
    }
}
