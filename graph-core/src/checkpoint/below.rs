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
    let name = linked.and_then(|linked| match &linked.outcome {
        Some(EffectOutcome::Ok(name)) => name.decode().ok(),
        _ => None,
    });
    name.unwrap_or_else(|| thread.below(task))
}
