//! Which thread a task's subgraph runs on.
//!
//! Its name follows from the task. A task that is carried to another checkpoint, by an edit, has another id there
//! and the same subgraph: a row of its effect journal then names the thread.

use alloc::string::String;

use super::{EffectId, EffectOutcome, EffectRecord};
use crate::id::{IdempotencyKey, TaskId, ThreadId};
use crate::state::Json;

/// The name of the row. No effect of a user is called so.
const LINK: &str = "\u{1f}subgraph";

/// The row's id.
pub(crate) fn link(task: TaskId) -> EffectId {
    EffectId { task, name: LINK.into(), key: String::new(), occurrence: 0 }
}

/// The row that says that the subgraph of `task` is on `thread`.
pub(crate) fn linked(task: TaskId, thread: &ThreadId) -> EffectRecord {
    let name = Json::encode(thread).expect("a name has a JSON form");
    let token = IdempotencyKey::derive(thread, task, LINK, "", 0);
    EffectRecord { id: link(task), attempt: 1, starts: 1, token, outcome: Some(EffectOutcome::Ok(name)) }
}

/// The thread of the subgraph of `task`, which runs on `thread` and whose journal is among `effects`.
pub(crate) fn thread(effects: &[EffectRecord], thread: &ThreadId, task: TaskId) -> ThreadId {
    let link = link(task);
    let linked = effects.iter().find(|effect| effect.id == link);
    linked.and_then(EffectRecord::subgraph).unwrap_or_else(|| thread.below(task))
}

impl EffectRecord {
    /// The thread of its task's subgraph, if this is the row that names it: an edit leaves such rows.
    #[must_use]
    pub fn subgraph(&self) -> Option<ThreadId> {
        match &self.outcome {
            Some(EffectOutcome::Ok(name)) if self.id == link(self.id.task) => name.decode().ok(),
            _ => None,
        }
    }

    /// The same row for the same subgraph on a thread of another name.
    #[must_use]
    pub fn with_subgraph(self, thread: &ThreadId) -> Self {
        let name = Json::encode(thread).expect("a name has a JSON form");
        Self { outcome: Some(EffectOutcome::Ok(name)), ..self }
    }
}
