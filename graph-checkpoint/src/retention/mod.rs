//! The decision which checkpoints a pruning keeps, for all kinds of stores.

mod policy;
mod selection;

use serde::Deserialize;
use superstep_core::checkpoint::{Cause, Fold, Kept, StoreError};
use superstep_core::id::{CheckpointId, NodeName, TaskId};
use superstep_core::state::{Op, SizeLimits};

use crate::limited::undecoded;

pub use policy::Retention;
pub(crate) use policy::{Policy, now_ms};
pub(crate) use selection::select;

/// A checkpoint, as the selection needs it.
pub(crate) struct Standing {
    pub(crate) id: CheckpointId,
    pub(crate) parent: Option<i64>,
    /// The row of the thread on which it was written.
    pub(crate) thread: i64,
    /// `true` if an earlier pruning has reduced it to its state.
    pub(crate) is_pruned: bool,
    pub(crate) plan: Planned,
}

/// The parts of a manifest that refer to threads of subgraphs.
#[derive(Default)]
pub(crate) struct Planned {
    /// The tasks that are planned next.
    tasks: Vec<TaskId>,
    kept: Vec<Kept>,
}

#[derive(Deserialize)]
struct Ahead {
    #[serde(default)]
    next: Vec<Next>,
    #[serde(default)]
    kept: Vec<Kept>,
}

#[derive(Deserialize)]
struct Next {
    node: NodeName,
    cause: Cause,
}

impl Planned {
    pub(crate) fn parse(manifest: &str, id: CheckpointId, step: i64) -> Result<Self, serde_json::Error> {
        let ahead: Ahead = serde_json::from_str(manifest)?;
        let task = |next: &Next| TaskId::derive(id, "", step + 1, &next.node, next.cause.each());
        Ok(Self { tasks: ahead.next.iter().map(task).collect(), kept: ahead.kept })
    }
}

/// Merges the operations of several versions of a field. Returns `true` if they no longer build on an older version.
pub(crate) fn merge(
    ops: &mut Vec<Op>,
    builds_on_older: bool,
    limits: SizeLimits,
) -> Result<bool, StoreError> {
    let whole = ops.iter().rposition(Op::is_whole);
    ops.drain(..whole.unwrap_or(0));
    let is_whole = whole.is_some() || !builds_on_older;
    if is_whole && ops.len() > 1 {
        let mut fold = Fold::within(limits);
        for op in ops.iter() {
            fold.apply(op).map_err(|error| undecoded("an operation", error))?;
        }
        let value = fold.finish().map_err(|error| undecoded("the value", error))?;
        *ops = value.map(Op::Set).into_iter().collect();
    }
    Ok(is_whole)
}
